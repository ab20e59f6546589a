package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Serve runs the supervisor: it creates dir (a fresh temporary folder if dir is empty), changes to
// dir, executes the commands from in and writes events to out. Serve returns when in has ended, or
// on SIGTERM, SIGINT or SIGHUP, after all processes are gone and dir is removed.
//
// Call Serve from the main goroutine, whose thread lives as long as the process: the kernel kills
// the children when this thread ends.
func Serve(dir string, in io.Reader, out io.Writer) (err error) {
	runtime.LockOSThread()
	// Without this, a write to a dead client would kill the supervisor.
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)

	dir, err = enter(dir)
	if err != nil {
		return err
	}
	pidFile, err := writePID()
	if err != nil {
		return err
	}
	defer runtime.KeepAlive(pidFile) // the end of the process is what unlocks it
	s := &server{exits: make(chan Exit), running: map[string]*child{}, out: json.NewEncoder(out)}
	defer func() {
		s.killAll()
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	if s.log, err = openLog("supervisor"); err != nil {
		return err
	}
	s.tell(event{Dir: dir})
	s.loop(receive(in), signals)
	return nil
}

// enter changes to dir and returns the absolute path. The processes inherit the directory, so that
// they can use short names for files and sockets.
func enter(dir string) (string, error) {
	var err error
	if dir == "" {
		dir, err = os.MkdirTemp("", "trueup-cluster-")
	} else {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", fmt.Errorf("cannot name the cluster's folder: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(dir, LogDir), 0o700); err != nil {
		return "", fmt.Errorf("cannot create the cluster's folder: %w", err)
	}
	if err := os.Chdir(dir); err != nil {
		return "", fmt.Errorf("cannot enter the cluster's folder: %w", err)
	}
	return dir, nil
}

// writePID leaves the process id in the working directory, and locks the file.
func writePID() (*os.File, error) {
	file, err := os.Create(PIDFile)
	if err != nil {
		return nil, fmt.Errorf("cannot write the process id: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock the process id: %w", err), file.Close())
	}
	if _, err := fmt.Fprintln(file, os.Getpid()); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot write the process id: %w", err), file.Close())
	}
	return file, nil
}

// receive passes the commands on, and closes the channel at the end of in.
func receive(in io.Reader) <-chan command {
	commands := make(chan command)
	go func() {
		defer close(commands)
		decoder := json.NewDecoder(in)
		for {
			var c command
			if decoder.Decode(&c) != nil {
				return
			}
			commands <- c
		}
	}()
	return commands
}

type server struct {
	exits   chan Exit
	running map[string]*child
	out     *json.Encoder
	// log also records the events sent to the client, which may not read any more.
	log *os.File
}

// child is a process that runs.
type child struct {
	cmd *exec.Cmd
	// killed is set when the client asked to kill the process.
	killed bool
}

func (s *server) loop(commands <-chan command, signals <-chan os.Signal) {
	detached := false
	for {
		select {
		case c, open := <-commands:
			switch {
			case !open && !detached:
				return
			case !open:
				commands = nil
			case c.Detach:
				detached = true
				s.tell(event{Detached: true})
			case c.Start != nil:
				s.start(*c.Start)
			case c.Signal != nil:
				s.signal(*c.Signal)
			}
		case exit := <-s.exits:
			s.ended(exit)
		case <-signals:
			return
		}
	}
}

// tell sends an event to the client.
func (s *server) tell(e event) {
	_ = s.out.Encode(e) //nolint:errchkjson // a client that is gone is noticed by the end of the input
}

func (s *server) ended(exit Exit) {
	killed := s.running[exit.Name].killed
	delete(s.running, exit.Name)
	if killed {
		s.tell(event{Signalled: new(true)})
		return
	}
	s.report(exit)
}

// report reports a process that has ended by itself, to the client before the log: whoever reads
// the log then knows that the client was notified.
func (s *server) report(exit Exit) {
	s.tell(event{Exit: &exit})
	_, _ = fmt.Fprintf(s.log, "%s %s: %s\n", time.Now().Format(time.RFC3339), exit.Name, exit.State)
}

func (s *server) start(p Process) {
	if s.running[p.Name] != nil {
		return // somebody was faster
	}
	cmd, err := run(p)
	if err != nil {
		s.report(Exit{Name: p.Name, State: err.Error()})
		return
	}
	s.running[p.Name] = &child{cmd: cmd}
	go func() {
		_ = cmd.Wait() // what it says is in ProcessState
		s.exits <- Exit{Name: p.Name, State: cmd.ProcessState.String()}
	}()
}

func openLog(name string) (*os.File, error) {
	log, err := os.OpenFile(filepath.Join(LogDir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the log of %s: %w", name, err)
	}
	return log, nil
}

// run starts p in its own process group. Apart from p's variables, the environment only has the
// caller's variables for finding programs and time zones: etcd and kwok read settings from the
// environment, and write below HOME.
func run(p Process) (*exec.Cmd, error) {
	log, err := openLog(p.Name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the process has its own
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("cannot name its folder: %w", err)
	}
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}, p.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttributes()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start: %w", err)
	}
	return cmd, nil
}

// killAll returns when every process is gone.
func (s *server) killAll() {
	for _, process := range s.running {
		process.signal(syscall.SIGKILL) // which ends a stopped one, too
	}
	for len(s.running) > 0 {
		delete(s.running, (<-s.exits).Name)
	}
}
