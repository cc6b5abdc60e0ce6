package argocd

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Application is Argo CD's Application, with only the parts that Towline reads. The package comment describes the
// preserved parts.
// +kubebuilder:object:root=true
type Application struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the JSON of the spec, unchanged.
	Spec runtime.RawExtension `json:"spec"`

	// Operation is the JSON of a requested operation, unchanged; nil for none.
	Operation *runtime.RawExtension `json:"operation,omitempty"`

	// Status has the fields of the status that Towline writes. Decoding drops all other fields.
	Status Status `json:"status,omitzero"`

	// Unknown holds top-level fields of newer Argo CDs, unchanged.
	Unknown map[string]json.RawMessage `json:"-"`

	// Home is the administrators' choice of a namespace for Applications on the Application's cluster; empty for no
	// choice. Home is not part of the object: the reader of the Application sets Home.
	Home string `json:"-"`

	// SourceAddress is the address at which the Application's cluster reads repositories through the hub; empty for a
	// cluster that reads from the Git servers. SourceAddress is not part of the object: the decision about the
	// Application sets SourceAddress.
	SourceAddress string `json:"-"`
}

// ReadingAt returns the Application with a SourceAddress. The rest of the Application is shared.
func (a *Application) ReadingAt(address string) *Application {
	if a.SourceAddress == address {
		return a
	}
	out := *a
	out.SourceAddress = address
	return &out
}

// ApplicationList is a list of Applications.
//
// +kubebuilder:object:root=true
type ApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Application `json:"items"`
}

// plain has Application's fields but not its methods, to prevent an infinite recursion of the encoding.
type plain Application

// UnmarshalJSON decodes an Application and keeps unknown top-level fields. A status with an invalid format counts as
// empty instead of an error. The API server's schema validates the status. If a newer Argo CD has a different schema,
// one Application must not prevent the reading of the whole list.
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

// MarshalJSON encodes an Application together with its unknown top-level fields.
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
