package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/trueup-go/trueup/test/harness/filelock"
	"github.com/trueup-go/trueup/test/harness/places"
	"github.com/trueup-go/trueup/test/harness/postgres/internal/programs"
)

const (
	// startLimit bounds the time to start a server. A second is usual; the limit is for busy
	// machines.
	startLimit = time.Minute
	// stopLimit bounds the time to stop a server.
	stopLimit = time.Minute
)

// A Server is a PostgreSQL server. Its methods may be called from several goroutines.
type Server struct {
	// admin is the superuser's connection to the database from which others are created, or the
	// connection that the environment names.
	admin connection

	mu sync.Mutex
	// own is nil for a server that the environment names.
	own   *instance
	state state
	close func() error
}

// A state is the last requested state of a server of ours.
type state int

const (
	stopped state = iota
	running
	frozen
)

// Start starts a fresh server, or uses the one that the environment names: see the package's
// documentation. On return, the server answers.
//
// If the server ends before that, the error quotes the end of the server's log, and all files are
// removed.
//
// A fresh server runs until Close is called or this process ends; ctx only limits the start.
func Start(ctx context.Context, opts ...Option) (*Server, error) {
	o := newOptions(opts)
	named, given, err := fromEnvironment()
	if err != nil {
		return nil, err
	}
	if given {
		return use(ctx, named, o)
	}
	return startOwn(ctx, o)
}

// use takes a server that runs.
func use(ctx context.Context, named connection, o options) (*Server, error) {
	s := &Server{admin: named, close: func() error { return nil }}
	if len(o.settings) > 0 {
		return nil, s.notOurs("configure")
	}
	if err := named.with(ctx, func(conn *pgx.Conn) error { return conn.Ping(ctx) }); err != nil {
		return nil, fmt.Errorf("cannot use the server that %s names: %w (unset it to have a fresh one)", hostVariable, err)
	}
	return s, nil
}

func startOwn(ctx context.Context, o options) (*Server, error) {
	found, err := findPrograms(ctx, o.programs)
	if err != nil {
		return nil, err
	}
	own, err := newInstance(found, o.settings)
	if err != nil {
		return nil, err
	}
	s := &Server{own: own}
	s.close = sync.OnceValue(s.end)
	if err := s.boot(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// findPrograms installs them, if they are nowhere and that is possible.
func findPrograms(ctx context.Context, folder string) (programs.Set, error) {
	if folder != "" {
		return programs.In(folder)
	}
	found, err := programs.Find(ctx)
	if !errors.Is(err, programs.ErrMissing) || !programs.Installable() {
		return found, err
	}
	cache, err := places.Cache()
	if err != nil {
		return programs.Set{}, err
	}
	lock, err := filelock.Acquire(ctx, filepath.Join(cache, "postgres-install.lock"))
	if err != nil {
		return programs.Set{}, err
	}
	defer lock.Release()
	if found, err := programs.Find(ctx); err == nil {
		return found, nil // another process has installed them meanwhile
	}
	if err := programs.Install(ctx, os.Stderr); err != nil {
		return programs.Set{}, err
	}
	return programs.Find(ctx)
}

func (s *Server) boot(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %s", startLimit))
	defer cancel()
	password, err := s.own.initialize(ctx)
	if err != nil {
		return err
	}
	s.admin = connection{
		host: "127.0.0.1", port: strconv.Itoa(s.own.port.Number), sslMode: "disable",
		database: maintenance, user: superuser, password: password,
	}
	return s.launch(ctx)
}

func (s *Server) launch(ctx context.Context) error {
	if err := s.own.launch(ctx); err != nil {
		return err
	}
	s.state = running
	err := s.own.answers(ctx, s.admin)
	if s.own.ended() {
		s.state = stopped // as the error says
	}
	return err
}

// Environment names the server's own database in the variables PSQL_HOST, PSQL_PORT,
// PSQL_DBNAME, PSQL_USER, PSQL_PASSWORD and PSQL_SSLMODE, as os/exec takes them. Tests
// had better use a database of their own.
func (s *Server) Environment() []string {
	return s.admin.environment()
}

// Stop shuts the server down: it aborts the work of all clients and shuts down properly. Data and
// port are kept for Restart. Stop has no effect on a server that is down.
func (s *Server) Stop() error {
	return s.change("stop", func() error { return s.stop(context.Background()) })
}

func (s *Server) stop(ctx context.Context) error {
	if s.state == stopped {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, stopLimit, fmt.Errorf("it runs after %s", stopLimit))
	defer cancel()
	if err := s.resume(); err != nil {
		return err
	}
	if err := s.own.signal(syscall.SIGINT); err != nil {
		return err
	}
	if err := s.own.gone(ctx); err != nil {
		return err
	}
	s.state = stopped
	return nil
}

// Kill ends every process of the server by SIGKILL, as a crash would. Acknowledged data and the
// port are kept for Restart; counters are lost (see [Database.Written]). Kill has no effect on a
// server that is down.
func (s *Server) Kill() error {
	return s.change("kill", func() error {
		if s.state == stopped {
			return nil
		}
		if err := s.own.kill(); err != nil {
			return err
		}
		s.state = stopped
		ctx, cancel := context.WithTimeoutCause(context.Background(), stopLimit, fmt.Errorf("it runs after %s", stopLimit))
		defer cancel()
		return s.own.gone(ctx)
	})
}

// Restart starts the server after Stop or Kill, on the same port and data. On return, the server
// answers. A running server is stopped first.
func (s *Server) Restart(ctx context.Context) error {
	return s.change("restart", func() error {
		if err := s.stop(ctx); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, startLimit, fmt.Errorf("not ready after %s", startLimit))
		defer cancel()
		return s.launch(ctx)
	})
}

// Freeze stops every process of the server: until Resume, Stop or Kill, the server accepts
// connections but does not answer.
func (s *Server) Freeze() error {
	return s.change("freeze", func() error {
		if s.state != running {
			return errors.New("cannot freeze a server that does not run")
		}
		s.state = frozen
		return s.own.freeze()
	})
}

// Resume lets a frozen server go on. One that is not frozen is left alone.
func (s *Server) Resume() error {
	return s.change("resume", s.resume)
}

func (s *Server) resume() error {
	if s.state != frozen {
		return nil
	}
	s.state = running
	return s.own.resume()
}

// Close ends the server, and returns when all processes and the folder are gone. It may be called
// more than once. If the server had ended by itself, the error quotes the end of the server's log.
// A server that the environment names keeps running.
func (s *Server) Close() error {
	return s.close()
}

func (s *Server) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.own.port.Release()
	var crash error
	if s.state != stopped && s.own.ended() {
		crash = s.own.crash()
	}
	resumeErr := s.resume() // else the supervisor's would take seconds
	s.state = stopped
	return errors.Join(crash, resumeErr, s.own.supervisor.clean())
}

// change does something to a server of ours.
func (s *Server) change(verb string, do func() error) error {
	if s.own == nil {
		return s.notOurs(verb)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return do()
}

// runs reports whether the server can be asked.
func (s *Server) runs() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own == nil || s.state == running && !s.own.ended()
}

func (s *Server) notOurs(verb string) error {
	return fmt.Errorf("cannot %s the server that %s names, which is not ours: %w", verb, hostVariable, errors.ErrUnsupported)
}
