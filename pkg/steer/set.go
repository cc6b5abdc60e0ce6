package steer

import (
	"fmt"
	"slices"
	"strings"
)

// Set is the ApplicationSet of an Application.
type Set struct {
	// Namespace and Name identify the ApplicationSet.
	Namespace, Name string

	// Gone is true if the ApplicationSet is missing on the hub or under deletion. Then the ApplicationSet makes no
	// further writes.
	Gone bool

	// Unread is true if the user may not read the ApplicationSet.
	Unread bool

	// CreateOnly is true if spec.syncPolicy.applicationsSync forbids changes of existing Applications.
	CreateOnly bool

	// Preserved are the annotations of spec.preservedFields.
	Preserved []string

	// Templated are the annotations of the template. The controller restores a templated annotation after its removal
	// from an Application.
	Templated []string

	// Ignored are the JSON pointers of spec.ignoreApplicationDifferences that apply to the Application.
	Ignored []string
}

// keepsAnnotation returns whether the ApplicationSet controller keeps an annotation written by a different client.
//
// The ApplicationSet controller (Argo CD 2.14 to 3.5, createOrUpdateInCluster) replaces all annotations, labels and
// finalizers with the template's. Preserved fields, ignored fields, and Argo CD's refresh and notified annotations
// stay. The controller never removes the operation.
func (s *Set) keepsAnnotation(key, value string) bool {
	switch {
	case s == nil, s.Gone, s.CreateOnly:
		return true
	case value == "" && slices.Contains(s.Templated, key):
		return false
	case slices.Contains(s.Preserved, key):
		return true
	}
	pointer := "/metadata/annotations/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
	return slices.ContainsFunc(s.Ignored, func(p string) bool { return p == "/metadata/annotations" || p == pointer })
}

// refuseAnnotation returns a refusal with the alternative in the ApplicationSet. value is the annotation's value for
// all Applications of the set; empty to remove the annotation.
func (s *Set) refuseAnnotation(f *Facts, r Request, key, value string) *Refusal {
	name := s.Namespace + "/" + s.Name
	message := fmt.Sprintf("ApplicationSet %s made %s/%s, and restores the annotations from the template: a change of the Application "+
		"alone would not last", name, f.App.Namespace, f.App.Name)
	if s.Unread {
		message += ". You may not read the ApplicationSet, which may preserve the annotation " + key
	}
	lines := []string{"kubectl -n " + s.Namespace + " edit applicationsets.argoproj.io " + s.Name}
	if r.Verb == Pause || r.Verb == Resume {
		lines = append([]string{"kubectl towline " + string(r.Verb) + " -n " + s.Namespace + " --applicationset " + s.Name, "# or"}, lines...)
	}
	lines = append(lines, templateLines(key, value)...)
	lines = append(lines,
		"# or, to permit the change of each Application with kubectl towline "+string(r.Verb)+":",
		"spec:", "  preservedFields:", "    annotations: ["+key+"]")
	return &Refusal{Message: message, Do: strings.Join(lines, "\n")}
}

// templateLines returns the lines for the template of the ApplicationSet.
func templateLines(key, value string) []string {
	if value == "" {
		return []string{"# remove the annotation from spec.template.metadata.annotations:", "# " + key}
	}
	return []string{
		"# for all Applications of the ApplicationSet:", "spec:", "  template:", "    metadata:", "      annotations:",
		fmt.Sprintf("        %s: %q", key, value),
	}
}

// refuseMove returns a refusal with the alternative way to move the ApplicationSet's Application.
func (s *Set) refuseMove(f *Facts) *Refusal {
	return &Refusal{
		Message: fmt.Sprintf("ApplicationSet %s/%s made %s/%s, and its template names the cluster: a change of the Application alone would "+
			"not last", s.Namespace, s.Name, f.App.Namespace, f.App.Name),
		Do: "# change the input of the generators, such as the Placement:\nkubectl -n " + s.Namespace + " edit applicationsets.argoproj.io " + s.Name,
	}
}

// refuseDelete returns a refusal with the alternative way to delete the ApplicationSet's Application.
func (s *Set) refuseDelete(f *Facts) *Refusal {
	return &Refusal{
		Message: fmt.Sprintf("ApplicationSet %s/%s would make %s/%s again", s.Namespace, s.Name, f.App.Namespace, f.App.Name),
		Do: "# remove the cluster from the input of the generators, such as a Placement:\nkubectl -n " + s.Namespace +
			" edit applicationsets.argoproj.io " + s.Name,
	}
}
