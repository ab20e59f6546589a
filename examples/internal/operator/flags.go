package operator

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// watchNamespaceEnv is the environment variable that is read if the flag --watch-namespace is not set.
const watchNamespaceEnv = "WATCH_NAMESPACE"

// Flags are the flags that all operators have.
type Flags struct {
	MetricsBindAddress      string
	HealthProbeBindAddress  string
	LeaderElect             bool
	LeaderElectionNamespace string
	// WatchNamespace is the only namespace that is watched; empty means all.
	WatchNamespace string
	// ChildLabels are added to every child.
	ChildLabels map[string]string

	name string
	zap  zap.Options
}

// ParseFlags parses args and the environment of the operator with that name. The functions own add the
// flags of this operator. With --help, ParseFlags writes the help to stdout and returns flag.ErrHelp.
func ParseFlags(name string, args []string, stdout io.Writer, own ...func(*flag.FlagSet)) (*Flags, error) {
	flags := &Flags{name: name}
	set := flag.NewFlagSet(name, flag.ContinueOnError)
	set.SetOutput(io.Discard) // the caller prints errors
	flags.addTo(set)
	for _, add := range own {
		add(set)
	}
	config.RegisterFlags(set)

	switch err := set.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		_, _ = fmt.Fprintf(stdout, "Usage of %s:\n", name)
		set.SetOutput(stdout)
		set.PrintDefaults()
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w (see --help)", err)
	case set.NArg() > 0:
		return nil, fmt.Errorf("unexpected argument %q (see --help)", set.Arg(0))
	}
	if err := flags.readEnvironment(set); err != nil {
		return nil, err
	}
	return flags, nil
}

func (f *Flags) addTo(set *flag.FlagSet) {
	set.StringVar(&f.MetricsBindAddress, "metrics-bind-address", ":8080",
		"`address` that serves metrics; 0 turns them off")
	set.StringVar(&f.HealthProbeBindAddress, "health-probe-bind-address", ":8081",
		"`address` that serves /healthz and /readyz; 0 turns them off")
	set.BoolVar(&f.LeaderElect, "leader-elect", false,
		"enable leader election, so that only one of several instances is active")
	set.StringVar(&f.LeaderElectionNamespace, "leader-election-namespace", "",
		"`namespace` of the leader election's lease; the default is the namespace of the operator's pod, "+
			"so this flag is required outside a cluster")
	set.Func("watch-namespace",
		"the only `namespace` to watch; empty means all. The default is the value of the environment variable "+watchNamespaceEnv,
		func(value string) (err error) {
			f.WatchNamespace, err = parseNamespace(value)
			return err
		})
	set.Func("child-labels",
		"`labels` for every child, as key=value,key=value",
		func(value string) (err error) {
			f.ChildLabels, err = parseLabels(value)
			return err
		})
	f.zap.BindFlags(set)
}

// TemplatesFlag returns a function for ParseFlags that adds the flag --templates. The flag sets dir.
func TemplatesFlag(dir *string) func(*flag.FlagSet) {
	return func(set *flag.FlagSet) {
		set.StringVar(dir, "templates", "",
			"`folder` with templates that override the built-in templates of the same name. The folder need not exist; "+
				"changes take effect without a restart")
	}
}

// readEnvironment reads the namespace to watch from the environment, unless the flag is set. An invalid
// namespace is an error: the operator must not fall back to all namespaces.
func (f *Flags) readEnvironment(set *flag.FlagSet) (err error) {
	given := false
	set.Visit(func(f *flag.Flag) { given = given || f.Name == "watch-namespace" })
	value := os.Getenv(watchNamespaceEnv)
	if given || value == "" {
		return nil
	}
	if f.WatchNamespace, err = parseNamespace(value); err != nil {
		return fmt.Errorf("invalid value %q in the environment's %s: %w", value, watchNamespaceEnv, err)
	}
	return nil
}

// parseNamespace accepts one namespace or none. With several namespaces, the client could not read its
// own writes.
func parseNamespace(value string) (string, error) {
	if value == "" {
		return "", nil
	}
	if problems := validation.IsDNS1123Label(value); len(problems) > 0 {
		return "", fmt.Errorf("not the name of one namespace: %s", strings.Join(problems, "; "))
	}
	return value, nil
}

func parseLabels(value string) (map[string]string, error) {
	if value == "" {
		return nil, nil
	}
	labels := map[string]string{}
	for pair := range strings.SplitSeq(value, ",") {
		key, value, found := strings.Cut(pair, "=")
		if !found {
			return nil, fmt.Errorf("%q is not key=value", pair)
		}
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			return nil, fmt.Errorf("%q is no label key: %s", key, strings.Join(problems, "; "))
		}
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			return nil, fmt.Errorf("%q is no label value: %s", value, strings.Join(problems, "; "))
		}
		if _, twice := labels[key]; twice {
			return nil, fmt.Errorf("label %q is given twice", key)
		}
		labels[key] = value
	}
	return labels, nil
}
