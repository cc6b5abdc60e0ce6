package argocd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Application is Argo CD's Application, as far as Towline looks into it. See the package for what is kept and
// what is not.
//
// +kubebuilder:object:root=true
type Application struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the JSON of the spec, untouched.
	Spec runtime.RawExtension `json:"spec"`

	// Operation is the JSON of a requested operation, untouched; nil when there is none.
	Operation *runtime.RawExtension `json:"operation,omitempty"`

	// Status holds the fields of the status that Towline writes; all others are dropped when decoding.
	Status Status `json:"status,omitzero"`

	// Unknown holds top-level fields of newer Argo CDs, untouched.
	Unknown map[string]json.RawMessage `json:"-"`

	// Home is the namespace that administrators chose for Applications on this one's cluster; empty where they chose none. It is
	// no part of the object: whoever reads Applications sets it.
	Home string `json:"-"`
}

// ApplicationList is a list of Applications.
//
// +kubebuilder:object:root=true
type ApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Application `json:"items"`
}

// plain has Application's fields but not its methods, so that encoding does not call itself.
type plain Application

// UnmarshalJSON decodes an Application and keeps the top-level fields that it does not know. A status that does
// not fit is taken as empty rather than refused: the API server's schema vouches for it, and where a newer Argo
// CD's schema differs, one Application must not keep the list of all from being read.
func (a *Application) UnmarshalJSON(data []byte) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	take := func(field string, into any) error {
		raw, ok := fields[field]
		delete(fields, field)
		if !ok {
			return nil
		}
		if err := json.Unmarshal(raw, into); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		return nil
	}
	var p plain
	if err := errors.Join(
		take("apiVersion", &p.APIVersion),
		take("kind", &p.Kind),
		take("metadata", &p.ObjectMeta),
		take("spec", &p.Spec),
		take("operation", &p.Operation),
	); err != nil {
		return err
	}
	if take("status", &p.Status) != nil {
		p.Status = Status{Unreadable: []string{"status"}}
	}
	if len(fields) > 0 {
		p.Unknown = fields
	}
	*a = Application(p)
	return nil
}

// MarshalJSON encodes an Application together with the top-level fields that it does not know.
func (a Application) MarshalJSON() ([]byte, error) {
	data, err := json.Marshal(plain(a))
	if err != nil || len(a.Unknown) == 0 {
		return data, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	maps.Copy(fields, a.Unknown)
	return json.Marshal(fields)
}
