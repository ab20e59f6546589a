package main

import (
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
)

// A machine is where the figures come from.
type machine struct {
	Processor  string
	Processors int
	System, Go string
	Modules    []*debug.Module
}

// contestedModules are the modules whose versions matter.
var contestedModules = []string{"github.com/fluxcd/pkg/ssa", "k8s.io/client-go", "sigs.k8s.io/controller-runtime"}

var processorPattern = regexp.MustCompile(`(?m)^model name\s*: (.*)$`)

func thisMachine() machine {
	m := machine{
		Processor: "unknown", Processors: runtime.NumCPU(),
		System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(),
	}
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		if found := processorPattern.FindSubmatch(info); found != nil {
			m.Processor = string(found[1])
		}
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, module := range build.Deps {
			if slices.Contains(contestedModules, module.Path) {
				m.Modules = append(m.Modules, module)
			}
		}
	}
	return m
}
