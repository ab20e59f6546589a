package operator

import (
	"flag"
	"fmt"
	"io/fs"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/trueup-go/trueup/ensure/manifest"
	"github.com/trueup-go/trueup/status/readiness"
)

// ReasonInvalidTemplate is the reason of a condition and of an event. It means that a template is invalid,
// that the result of a template for the spec of an object is invalid, or that the folder with the templates
// cannot be used.
const ReasonInvalidTemplate = "InvalidTemplate"

// Templates have the values of the flags --templates and --templates-optional.
type Templates struct {
	dir        string
	isOptional bool
}

// AddFlags adds the flags to set.
func (t *Templates) AddFlags(set *flag.FlagSet) {
	set.StringVar(&t.dir, "templates", "",
		"`folder` with templates that override the built-in templates of the same name; changes take effect without a restart. "+
			"The folder must have files, or an entry ..data as the volume of a ConfigMap")
	set.BoolVar(&t.isOptional, "templates-optional", false,
		"start although the folder of --templates is missing or empty: the built-in templates are used until it has files")
}

// Folder returns the templates, or an error if the folder cannot be used: the built-in templates must not
// take the place of templates that the children of an earlier process have their names from.
func (t *Templates) Folder(defaults fs.FS, scheme *runtime.Scheme) (*manifest.Folder, error) {
	folder := manifest.NewFolder(t.dir, defaults, scheme)
	if t.isOptional {
		folder = folder.Optional()
	}
	if err := folder.Err(); err != nil {
		return nil, fmt.Errorf("--templates is %q: %w (see --templates-optional in --help)", t.dir, err)
	}
	return folder, nil
}

// CheckTemplates returns ready, the readiness of an object whose children were all ensured. If the folder
// cannot be used, so that the children come from its last good templates, CheckTemplates says so instead.
func CheckTemplates(folder *manifest.Folder, ready readiness.Readiness) readiness.Readiness {
	if err := folder.Err(); err != nil {
		return readiness.Readiness{State: readiness.Failed, Reason: ReasonInvalidTemplate, Message: err.Error()}
	}
	return ready
}

// TemplatesErr returns an error if the folder cannot be used. The error is terminal: only a change of the
// folder helps.
func TemplatesErr(folder *manifest.Folder) error {
	if err := folder.Err(); err != nil {
		return reconcile.TerminalError(err)
	}
	return nil
}
