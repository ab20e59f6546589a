package binaries

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// reportInterval is the interval between two looks at a build's progress.
const reportInterval = time.Second / 2

// A report describes the progress of a build.
type report struct {
	progress io.Writer
	dir      string
	programs []program
	began    time.Time
	finished map[Program]bool
	end      chan struct{}
	ended    chan struct{}
}

// startReport announces a build of the programs into dir, and reports each finished program.
func startReport(progress io.Writer, dir string, programs []program) *report {
	r := &report{
		progress: progress, dir: dir, programs: programs, began: time.Now(),
		finished: map[Program]bool{}, end: make(chan struct{}), ended: make(chan struct{}),
	}
	names := make([]string, len(programs))
	var work time.Duration
	for i, p := range programs {
		names[i] = string(p.name)
		work += p.work
	}
	fmt.Fprintf(progress, "building %s%s\n", strings.Join(names, ", "), estimate(work))
	go r.run()
	return r
}

// estimate returns a text with the expected duration of so much work on this machine, if the
// duration is long.
func estimate(work time.Duration) string {
	const processors = 2 // work was measured with so many
	took := work * processors / time.Duration(runtime.NumCPU())
	if took < time.Second {
		return ""
	}
	return fmt.Sprintf(" (the first time, about %s)", took.Round(time.Second))
}

func (r *report) run() {
	defer close(r.ended)
	ticker := time.NewTicker(reportInterval)
	defer ticker.Stop()
	for {
		r.look()
		select {
		case <-r.end:
			r.look()
			return
		case <-ticker.C:
		}
	}
}

// look reports the programs finished since the last look.
func (r *report) look() {
	for _, p := range r.programs {
		if r.finished[p.name] {
			continue
		}
		if _, err := os.Stat(filepath.Join(r.dir, p.output())); err != nil {
			continue
		}
		r.finished[p.name] = true
		fmt.Fprintf(r.progress, "  %d of %d: %s, after %s\n",
			len(r.finished), len(r.programs), p.name, time.Since(r.began).Round(time.Second/10))
	}
}

func (r *report) stop() {
	close(r.end)
	<-r.ended
}
