// Package grafana reads a dashboard in Grafana's classic JSON, as far as queries are concerned.
package grafana

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A Dashboard is a page of panels.
type Dashboard struct {
	Title         string  `json:"title"`
	UID           string  `json:"uid"`
	SchemaVersion int     `json:"schemaVersion"`
	Panels        []Panel `json:"panels"`
	Templating    struct {
		List []Variable `json:"list"`
	} `json:"templating"`
}

// A Panel is a chart, or a row, which is a headline.
type Panel struct {
	ID          int      `json:"id"`
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Targets     []Target `json:"targets"`
	GridPos     GridPos  `json:"gridPos"`
	FieldConfig struct {
		Defaults struct {
			Unit   string `json:"unit"`
			Custom struct {
				LineInterpolation string `json:"lineInterpolation"`
			} `json:"custom"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
}

// GridPos is a panel's place on a grid of 24 columns.
type GridPos struct {
	Width  int `json:"w"`
	Height int `json:"h"`
	X      int `json:"x"`
	Y      int `json:"y"`
}

// A Target is a query of a panel.
type Target struct {
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat"`
	RefID        string `json:"refId"`
}

// A Variable is chosen at the top of the page.
type Variable struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	AllValue string `json:"allValue"`
	// Definition is the query of a variable of type query.
	Definition string `json:"definition"`
}

// Read reads a dashboard from a file.
func Read(path string) (*Dashboard, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the dashboard: %w", err)
	}
	d := &Dashboard{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("cannot read the dashboard %s: %w", path, err)
	}
	return d, nil
}

// Charts are the panels that are no rows.
func (d *Dashboard) Charts() []Panel {
	var charts []Panel
	for _, panel := range d.Panels {
		if panel.Type != "row" {
			charts = append(charts, panel)
		}
	}
	return charts
}

// Chart is the panel of that title.
func (d *Dashboard) Chart(title string) (Panel, error) {
	for _, panel := range d.Charts() {
		if panel.Title == title {
			return panel, nil
		}
	}
	return Panel{}, fmt.Errorf("the dashboard has no panel %q", title)
}

// Values are the values of variables.
type Values map[string]string

// Values returns the values of the page's variables with no selection, which means all, and of the
// variables that Grafana sets: rate is the window of rates, and shown is the displayed time range.
func (d *Dashboard) Values(rate, shown time.Duration) Values {
	values := Values{
		"__rate_interval":    seconds(rate),
		"__rate_interval_ms": strconv.FormatInt(rate.Milliseconds(), 10),
		"__range":            seconds(shown),
	}
	for _, variable := range d.Templating.List {
		values[variable.Name] = variable.AllValue
	}
	return values
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) + "s" }

var (
	reference   = regexp.MustCompile(`\$(\w+)|\$\{(\w+)(?::\w+)?\}`)
	placeholder = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)
)

// Fill puts values in the place of the variables in a query. To name a variable that there is not is
// an error.
func (v Values) Fill(query string) (string, error) {
	var unknown []string
	filled := reference.ReplaceAllStringFunc(query, func(found string) string {
		name := strings.Join(reference.FindStringSubmatch(found)[1:], "")
		value, ok := v[name]
		if !ok {
			unknown = append(unknown, name)
		}
		return value
	})
	if len(unknown) > 0 {
		return "", fmt.Errorf("no such variable: %s", strings.Join(unknown, ", "))
	}
	return filled, nil
}

// LegendLabels are the labels that the target's legend names.
func (t Target) LegendLabels() []string {
	var names []string
	for _, found := range placeholder.FindAllStringSubmatch(t.LegendFormat, -1) {
		names = append(names, found[1])
	}
	return names
}

// Legend returns the target's name of a series with these labels.
func (t Target) Legend(label func(name string) string) string {
	text := placeholder.ReplaceAllStringFunc(t.LegendFormat, func(found string) string {
		return label(placeholder.FindStringSubmatch(found)[1])
	})
	return strings.TrimSpace(text)
}

var valuesOf = regexp.MustCompile(`^label_values\((.+),\s*(\w+)\)$`)

// LabelValues takes the query of a variable, label_values(selector, label), apart.
func (v Variable) LabelValues() (selector, label string, err error) {
	parts := valuesOf.FindStringSubmatch(v.Definition)
	if parts == nil {
		return "", "", fmt.Errorf("variable %s: %q is not label_values(selector, label)", v.Name, v.Definition)
	}
	return parts[1], parts[2], nil
}
