package postgres

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/trueup-go/trueup/test/harness/filelock"
	"github.com/trueup-go/trueup/test/harness/port"
	"github.com/trueup-go/trueup/test/harness/postgres/internal/programs"
)

// The files in the folder of an instance.
const (
	dataDir      = "data"
	logFile      = "log"
	passwordFile = "password"
	// pidFile is in dataDir. The first line is the postmaster's process id; the seventh has the key
	// and the id of a segment of shared memory.
	pidFile     = "postmaster.pid"
	segmentLine = 7
	// lockFile is locked as long as any process of the server runs: they inherit the lock.
	lockFile = "lock"
)

const (
	// superuser is who may do everything, and maintenance the database that
	// initdb makes.
	superuser   = "postgres"
	maintenance = "postgres"
	// interval is the time between two looks at whether the server answers.
	interval = 10 * time.Millisecond
	// tailSize is how much of the log an error quotes.
	tailSize = 4 << 10
)

// An instance is a server of ours: a folder, a port, and, while the server runs, processes.
type instance struct {
	dir        string
	programs   programs.Set
	settings   []string
	user       *syscall.Credential
	port       port.Port
	supervisor *supervisor
	// postmaster is the server's current first process, which starts all others; exited is closed
	// when the postmaster has ended.
	postmaster *exec.Cmd
	exited     chan struct{}
}

// newInstance prepares a server; nothing runs yet.
func newInstance(found programs.Set, settings []string) (*instance, error) {
	as, err := serverUser()
	if err != nil {
		return nil, err
	}
	reserved, err := port.Reserve(port.ReuseAddress)
	if err != nil {
		return nil, err
	}
	dir, err := makeFolder(as)
	if err != nil {
		reserved.Release()
		return nil, err
	}
	started, err := startSupervisor(dir)
	if err != nil {
		reserved.Release()
		return nil, errors.Join(err, os.Remove(dir))
	}
	return &instance{dir: dir, programs: found, settings: settings, user: as, port: reserved, supervisor: started}, nil
}

// initialize makes the data folder and returns the superuser's password.
func (i *instance) initialize(ctx context.Context) (string, error) {
	password := rand.Text()
	file := filepath.Join(i.dir, passwordFile)
	if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
		return "", fmt.Errorf("cannot tell initdb the password: %w", err)
	}
	if i.user != nil {
		if err := os.Chown(file, int(i.user.Uid), int(i.user.Gid)); err != nil {
			return "", fmt.Errorf("cannot tell initdb the password: %w", err)
		}
	}
	cmd := exec.CommandContext(ctx, i.programs.Initdb, "--pgdata="+dataDir, "--no-sync",
		"--username="+superuser, "--pwfile="+passwordFile, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C")
	i.prepare(cmd)
	cmd.ExtraFiles = []*os.File{i.supervisor.tie}
	if output, err := cmd.CombinedOutput(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return "", fmt.Errorf("cannot make the server's data folder: initdb: %w\n%s", err, output)
	}
	return password, nil
}

// prepare sets up a program to run in the folder, as the server's user, and in a separate session,
// which no Ctrl-C at a terminal reaches. The environment only has the caller's variables for
// finding programs and time zones, as PostgreSQL takes settings from there.
func (i *instance) prepare(cmd *exec.Cmd) {
	cmd.Dir = i.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + i.dir, "TMPDIR=" + i.dir, "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: i.user}
}

// arguments are the server's. Commits are synchronous, and full pages are written to
// the log, as by default: a kill may tear a page in two. That nothing waits for the disk
// only matters when the machine fails.
func (i *instance) arguments() []string {
	settings := []string{
		"listen_addresses=127.0.0.1",
		"port=" + strconv.Itoa(i.port.Number),
		"unix_socket_directories=",
		"fsync=off",
		"dynamic_shared_memory_type=mmap", // which is in the folder, and goes with it
	}
	if i.programs.Statistics {
		settings = append(settings,
			"shared_preload_libraries=pg_stat_statements",
			"pg_stat_statements.max=10000", // what is beyond is forgotten, and no more counted
			"pg_stat_statements.track=all",
		)
	}
	args := []string{"-D", dataDir}
	for _, setting := range slices.Concat(settings, i.settings) {
		args = append(args, "-c", setting)
	}
	return args
}

// launch starts the server's processes.
func (i *instance) launch(ctx context.Context) error {
	lock, err := filelock.Acquire(ctx, i.lock())
	if err != nil {
		return err
	}
	defer lock.Release() // from here on the server holds it
	log, err := os.OpenFile(i.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("cannot open the server's log: %w", err)
	}
	defer func() { _ = log.Close() }() // the server has its own
	postmaster := i.supervisor.supervised(i.programs.Postgres, i.arguments()...)
	i.prepare(postmaster)
	postmaster.Stdout, postmaster.Stderr = log, log
	postmaster.ExtraFiles = append(postmaster.ExtraFiles, lock.File)
	if err := postmaster.Start(); err != nil {
		return fmt.Errorf("cannot start PostgreSQL: %w", err)
	}
	i.postmaster, i.exited = postmaster, make(chan struct{})
	go func(exited chan struct{}) {
		_ = postmaster.Wait()    // what it says is in ProcessState
		_ = i.supervisor.ended() // a supervisor that is gone need not know
		close(exited)
	}(i.exited)
	return nil
}

// answers waits until the server does, or has ended.
func (i *instance) answers(ctx context.Context, c connection) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		unmet := c.with(ctx, func(conn *pgx.Conn) error { return conn.Ping(ctx) })
		if unmet == nil {
			return nil
		}
		select {
		case <-i.exited:
			return i.crash()
		case <-ctx.Done():
			return fmt.Errorf("cannot wait for the server: %w; at last: %w", context.Cause(ctx), unmet)
		case <-ticker.C:
		}
	}
}

// gone waits until the server's last process is.
func (i *instance) gone(ctx context.Context) error {
	select {
	case <-i.exited:
	case <-ctx.Done():
		return fmt.Errorf("cannot wait for the end of the server: %w", context.Cause(ctx))
	}
	lock, err := filelock.Acquire(ctx, i.lock())
	if err != nil {
		return err
	}
	lock.Release()
	return nil
}

// ended reports whether the server has ended. A process that was reaped may yet have to close
// exited.
func (i *instance) ended() bool {
	if errors.Is(i.postmaster.Process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		<-i.exited
		return true
	}
	return false
}

// crash describes how the server ended by itself.
func (i *instance) crash() error {
	return fmt.Errorf("PostgreSQL ended: %s; the end of its log:\n%s", i.postmaster.ProcessState, i.tail())
}

// tail is the end of the log.
func (i *instance) tail() []byte {
	content, err := os.ReadFile(i.log())
	if err != nil {
		return []byte(err.Error())
	}
	if len(content) <= tailSize {
		return content
	}
	_, whole, _ := bytes.Cut(content[len(content)-tailSize:], []byte("\n"))
	return whole
}

func (i *instance) log() string  { return filepath.Join(i.dir, logFile) }
func (i *instance) lock() string { return filepath.Join(i.dir, lockFile) }
