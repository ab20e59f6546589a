// Package supervisor runs the processes of a cluster and owns their working folder, and removes
// both together.
//
// The supervisor is a separate process (package cmd below), so that it outlives a killed test. Its
// client, [Launch], communicates through standard input and output, one line of JSON per message.
// When the input ends, because the client asked for this or because the client is dead, the
// supervisor kills its processes, removes the folder and exits. A detached supervisor does so on
// SIGTERM instead.
//
// Processes are killed without a graceful shutdown: a cluster has nothing worth saving, and a kill
// takes milliseconds. If the supervisor itself is killed, the kernel kills its processes (where
// supported: see child_linux.go); only the folder stays then.
//
// The package imports only the standard library, so that building the supervisor takes a second.
package supervisor

// PIDFile is the name of a file in the folder of every supervisor, with the supervisor's process
// id. A running supervisor holds an exclusive lock (flock) on this file: the process id in an
// unlocked file is stale.
const PIDFile = "supervisor.pid"

// LogDir is the folder inside the supervisor's folder with each process's output, in the file
// NAME.log. The supervisor's own log, supervisor.log, lists the processes that ended by themselves.
const LogDir = "logs"

// A Process describes a process to run.
type Process struct {
	// Name identifies the process and the log.
	Name string
	// Path is the absolute path of the program.
	Path string
	// Args are the arguments, without the program's name.
	Args []string
	// Env lists additional variables, as NAME=value.
	Env []string
}

// An Exit describes the end of a process.
type Exit struct {
	// Name is the process's.
	Name string
	// State is a sentence's end, such as "exit status 1".
	State string
}

// A command is a request of the client to the supervisor.
type command struct {
	Start  *Process  `json:",omitempty"`
	Signal *signalTo `json:",omitempty"`
	Detach bool      `json:",omitempty"`
}

// An event is a message of the supervisor to its client.
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
