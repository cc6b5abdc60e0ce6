package steer

import (
	"fmt"
	"slices"
	"strings"
)

// Set is the ApplicationSet of an Application.
type Set struct {
	// Namespace and Name name it.
	Namespace, Name string

	// Gone is set where the hub does not have it any more, or it is being deleted: it writes nothing then.
	Gone bool

	// Unread is set where it may not be read.
	Unread bool

	// CreateOnly is set where spec.syncPolicy.applicationsSync lets it change nothing of an Application that is there.
	CreateOnly bool

	// Preserved are the annotations of spec.preservedFields.
	Preserved []string

	// Templated are the annotations of the template, which come back when they are taken off an Application.
	Templated []string

	// Ignored are the JSON pointers of spec.ignoreApplicationDifferences that concern the Application.
	Ignored []string
}

// keepsAnnotation tells whether the set's controller leaves an annotation of an Application as somebody else has written it.
//
// That controller (Argo CD 2.14 to 3.5, createOrUpdateInCluster) puts the template's annotations, labels and finalizers in the place
// of all that are there, but for what the set preserves, for what it ignores, and for Argo CD's refresh and notified annotations.
// It never takes the operation off.
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

// refuseAnnotation says what belongs into the set in place of an annotation of one of its Applications. The value is that for all
// of them; empty where the annotation is to go.
func (s *Set) refuseAnnotation(f *Facts, r Request, key, value string) *Refusal {
	name := s.Namespace + "/" + s.Name
	message := fmt.Sprintf("ApplicationSet %s made %s/%s, and writes its annotations again from its template: what is set on the Application "+
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
		"# or, to let it be set on each Application with kubectl towline "+string(r.Verb)+":",
		"spec:", "  preservedFields:", "    annotations: ["+key+"]")
	return &Refusal{Message: message, Do: strings.Join(lines, "\n")}
}

// templateLines are those of a set's template.
func templateLines(key, value string) []string {
	if value == "" {
		return []string{"# take it out of spec.template.metadata.annotations:", "# " + key}
	}
	return []string{
		"# for all of its Applications:", "spec:", "  template:", "    metadata:", "      annotations:", fmt.Sprintf("        %s: %q", key, value),
	}
}

// refuseMove says what moves the Application of a set.
func (s *Set) refuseMove(f *Facts) *Refusal {
	return &Refusal{
		Message: fmt.Sprintf("ApplicationSet %s/%s made %s/%s, and its template names the cluster: what is set on the Application alone would "+
			"not last", s.Namespace, s.Name, f.App.Namespace, f.App.Name),
		Do: "# change what its generators give, such as its Placement:\nkubectl -n " + s.Namespace + " edit applicationsets.argoproj.io " + s.Name,
	}
}

// refuseDelete says what ends the Application of a set.
func (s *Set) refuseDelete(f *Facts) *Refusal {
	return &Refusal{
		Message: fmt.Sprintf("ApplicationSet %s/%s would make %s/%s again", s.Namespace, s.Name, f.App.Namespace, f.App.Name),
		Do: "# take its cluster out of what the generators give, such as a Placement:\nkubectl -n " + s.Namespace +
			" edit applicationsets.argoproj.io " + s.Name,
	}
}
