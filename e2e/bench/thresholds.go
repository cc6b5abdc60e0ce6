package bench

import (
	"errors"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// Threshold is a bound of a figure. Times are compared with times of the same run, so the threshold holds on any
// machine.
type Threshold struct {
	// Figure is the name of the figure.
	Figure string `json:"figure"`

	// Over is the name of the divisor of the figure. It may be empty.
	Over string `json:"over,omitempty"`

	// Min and Max are bounds of the figure or the quotient. At least Min or Max is set.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`

	// Why is the meaning of a violation.
	Why string `json:"why"`
}

// ReadThresholds reads a file of thresholds. An unknown figure and a threshold without a bound are errors.
func ReadThresholds(path string) ([]Threshold, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []Threshold
	if err := yaml.UnmarshalStrict(data, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i, t := range out {
		if err := t.validate(); err != nil {
			return nil, fmt.Errorf("%s: entry %d: %w", path, i+1, err)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no thresholds", path)
	}
	return out, nil
}

func (t *Threshold) validate() error {
	for _, name := range []string{t.Figure, t.Over} {
		if !isFigure(name) && (name != "" || t.Figure == "") {
			return fmt.Errorf("there is no figure %q", name)
		}
	}
	if t.Min == nil && t.Max == nil {
		return fmt.Errorf("%s: give a min or a max", t.Figure)
	}
	return nil
}

// name returns the name of the bounded value.
func (t *Threshold) name() string {
	if t.Over == "" {
		return t.Figure
	}
	return t.Figure + " / " + t.Over
}

// value returns the bounded value in a result.
func (t *Threshold) value(r *Result) (float64, error) {
	value, ok := r.Figures[t.Figure]
	if !ok {
		return 0, fmt.Errorf("%s was not measured", t.Figure)
	}
	if t.Over == "" {
		return value, nil
	}
	over := r.Figures[t.Over]
	if over == 0 {
		return 0, fmt.Errorf("%s was not measured, or is 0", t.Over)
	}
	return value / over, nil
}

// Check returns an error for every violated threshold. A missing figure is an error too.
func Check(r *Result, thresholds []Threshold) error {
	var errs []error
	for _, t := range thresholds {
		value, err := t.value(r)
		switch {
		case err != nil:
			errs = append(errs, err)
		case t.Min != nil && !(value >= *t.Min):
			errs = append(errs, fmt.Errorf("%s is %.4g, less than %.4g: %s", t.name(), value, *t.Min, t.Why))
		case t.Max != nil && !(value <= *t.Max):
			errs = append(errs, fmt.Errorf("%s is %.4g, more than %.4g: %s", t.name(), value, *t.Max, t.Why))
		}
	}
	return errors.Join(errs...)
}
