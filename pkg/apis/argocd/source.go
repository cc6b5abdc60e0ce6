package argocd

import (
	"bytes"
	"encoding/json"
)

// Source names a folder in Git, or a chart. The schema requires RepoURL.
type Source struct {
	// RepoURL is the URL of the repository.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	RepoURL string `json:"repoURL"`

	// Path is a folder of a Git repository.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`

	// TargetRevision is the requested revision: a branch, a tag, a commit or a range of versions.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	TargetRevision string `json:"targetRevision,omitempty"`

	// Chart is a chart of a Helm repository.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Chart string `json:"chart,omitempty"`

	// Ref is the name of the source in references from further sources.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Ref string `json:"ref,omitempty"`

	// Digest identifies the whole source, rendering options included. Only ApplicationReports have the digest.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Digest string `json:"digest,omitempty"`

	// Whole is the JSON of a source with further fields; empty for any other source.
	Whole string `json:"-"`
}

// plainSource has the fields of Source but not its methods, to prevent an infinite recursion of the codec.
type plainSource Source

// UnmarshalJSON decodes a source. Whole keeps the JSON of a source with unknown fields.
func (s *Source) UnmarshalJSON(data []byte) error {
	var p plainSource
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if d.Decode(&p) == nil {
		*s = Source(p) // most sources end here
		return nil
	}
	p = plainSource{}
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	p.Whole = string(data)
	*s = Source(p)
	return nil
}

// MarshalJSON encodes a source with all its fields.
func (s Source) MarshalJSON() ([]byte, error) {
	if s.Whole != "" {
		return []byte(s.Whole), nil
	}
	return json.Marshal(plainSource(s))
}

// shareSources lets equal sources of a history share memory: most entries have the source of the entry before.
func shareSources(history []Deployment) {
	for i := 1; i < len(history); i++ {
		if a, b := history[i-1].Source, history[i].Source; a != nil && b != nil && a.Whole == b.Whole {
			b.Whole = a.Whole
		}
		for n := range min(len(history[i-1].Sources), len(history[i].Sources)) {
			if a, b := &history[i-1].Sources[n], &history[i].Sources[n]; a.Whole == b.Whole {
				b.Whole = a.Whole
			}
		}
	}
}
