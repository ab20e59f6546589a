// Package supervisor keeps the processes of a cluster and the folder they
// work in, and takes both away together.
//
// The supervisor is a process of its own (package cmd below), so that it
// outlives a test that is killed. Its client, [Launch], talks to it through
// its standard input and output, a line of JSON each. When the input ends,
// because the client asked for it or because the client is dead, the
// supervisor kills what it started, removes the folder and exits. A detached
// supervisor does so on SIGTERM instead.
//
// Processes are killed, not asked to go: nothing in a cluster is worth saving,
// and a kill takes milliseconds. Should the supervisor itself be killed, the
// kernel kills its processes (where it can: see child_linux.go); only the
// folder stays then.
//
// The package needs nothing but the standard library, so that building the
// supervisor takes a second.
package supervisor

// PIDFile is the name of a file in the folder of every supervisor. It holds
// the supervisor's process id, and the supervisor holds an exclusive lock
// (flock) on it while it lives: a process id whose file is not locked is stale.
const PIDFile = "supervisor.pid"

// LogDir is the folder inside the supervisor's folder where each process's
// output goes, to the file NAME.log. The supervisor's own, supervisor.log, says
// which processes have ended without being asked to.
const LogDir = "logs"

// Process says what to run.
type Process struct {
	// Name identifies the process and names its log.
	Name string
	// Path is the absolute path of the program.
	Path string
	// Args are its arguments, without the program's name.
	Args []string
	// Env is what its environment holds besides what all have, as NAME=value.
	Env []string
}

// Exit says how a process ended.
type Exit struct {
	// Name is the process's.
	Name string
	// State is a sentence's end, such as "exit status 1".
	State string
}

// command is what the client asks of the supervisor.
type command struct {
	Start  *Process  `json:",omitempty"`
	Signal *signalTo `json:",omitempty"`
	Detach bool      `json:",omitempty"`
}

// event is what the supervisor tells its client.
type event struct {
	// Dir comes first, once.
	Dir string `json:",omitempty"`
	// Exit comes whenever a process has ended by itself, or did not start.
	Exit *Exit `json:",omitempty"`
	// Signalled answers the command: whether there is such a process.
	Signalled *bool `json:",omitempty"`
	// Detached answers the command.
	Detached bool `json:",omitempty"`
}
