package bench

import (
	"errors"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// Threshold is what a figure must hold to. Times are held to others of the same run, so that it holds on any machine.
type Threshold struct {
	// Figure is the name of the figure.
	Figure string `json:"figure"`

	// Over is a figure to divide it by; empty for none.
	Over string `json:"over,omitempty"`

	// Min and Max bound the figure, or the quotient. At least one is given.
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`

	// Why says what breaking it means.
	Why string `json:"why"`
}

// ReadThresholds reads a file of thresholds. A figure that does not exist and a threshold that bounds nothing are
// mistakes.
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

// name is what is bounded.
func (t *Threshold) name() string {
	if t.Over == "" {
		return t.Figure
	}
	return t.Figure + " / " + t.Over
}

// value is what is bounded, in a result.
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

// Check returns an error for every threshold that a result does not hold to, one for a figure that it lacks included.
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
