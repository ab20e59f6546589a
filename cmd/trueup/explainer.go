package main

import (
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/util/retry"

	"github.com/trueup-go/trueup/cmd/trueup/internal/explain"
)

// An explainer reads objects and writes the reports on them.
type explainer struct {
	cluster  *genericclioptions.ConfigFlags
	warnings *warnings
	streams  genericiooptions.IOStreams
	options  explain.Options
	layout   explain.Layout
	format   string
	file     string
}

// run writes the reports on all objects that could be read, and returns the errors of the others.
func (x *explainer) run(args []string) error {
	targets, err := x.targets(args)
	if err != nil {
		return err
	}
	var (
		reports []*explain.Report
		failed  []error
	)
	for _, target := range targets {
		var report *explain.Report
		err := retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
			report, err = x.explain(target)
			return err
		})
		if err != nil {
			failed = append(failed, err)
			continue
		}
		reports = append(reports, report)
	}
	if len(reports) > 0 {
		failed = append(failed, x.write(reports))
	}
	return errors.Join(failed...)
}

// explain reads an object and returns the report on it. If a file desires the object, the object may be missing. The error is
// a Conflict if somebody wrote to the object between the read and the dry run.
func (x *explainer) explain(t target) (*explain.Report, error) {
	x.warnings.masked.Store(x.masks(t))
	live, err := t.read()
	switch {
	case err == nil:
	case t.desired != nil && apierrors.IsNotFound(err):
		report := explain.Missing(t.desired)
		report.DryRun, err = x.dryRun(t, nil)
		return report, err
	default:
		return nil, x.failure("read", t, err)
	}
	report := explain.Of(live, x.options)
	if t.desired != nil {
		report.DryRun, err = x.dryRun(t, live)
	}
	return report, err
}

// dryRun returns the effect of applying the desired object to live, which is nil if there is none.
func (x *explainer) dryRun(t target, live *unstructured.Unstructured) (*explain.DryRun, error) {
	desired := t.desired.DeepCopy()
	var kept []string
	if live != nil {
		kept = explain.Stamp(desired, live, x.options)
		desired.SetResourceVersion(live.GetResourceVersion()) // otherwise what others write meanwhile would be an effect, too
	}
	result, err := t.tryApply(desired, x.options.FieldManager)
	if err != nil {
		if apierrors.IsConflict(err) && t.isChangedSince(live) {
			return nil, x.failure("try to apply", t, err)
		}
		run, refused := explain.NewRefusal(err, desired, x.options)
		if !refused {
			return nil, x.failure("try to apply", t, err)
		}
		run.Migration, err = x.migration(t, live, nil)
		return run, err
	}
	run := explain.NewDryRun(live, result, x.options)
	run.Kept = kept
	run.Migration, err = x.migration(t, live, result)
	return run, err
}

// write writes the reports in the chosen form.
func (x *explainer) write(reports []*explain.Report) error {
	if x.format == "json" {
		encoder := json.NewEncoder(x.streams.Out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(document{Version: documentVersion, Objects: reports})
	}
	for i, report := range reports {
		if i > 0 {
			fmt.Fprint(x.streams.Out, "\n\n")
		}
		if err := x.layout.Text(x.streams.Out, report); err != nil {
			return err
		}
	}
	return nil
}

// documentVersion changes if a field of the JSON form is removed, or changes its meaning.
const documentVersion = 1

// A document is the JSON form of all reports.
type document struct {
	Version int               `json:"version"`
	Objects []*explain.Report `json:"objects"`
}
