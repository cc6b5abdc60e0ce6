package argocd

import (
	"fmt"
	"regexp"

	"github.com/towline-io/towline/pkg/apis"
)

// Destination is the target cluster of an Application. The Argo CD responsible for the Application knows the cluster by
// Name or by Server.
type Destination struct {
	// Name is the name of the cluster.
	Name string

	// Server is the address of the cluster's API server.
	Server string
}

// InCluster is the cluster of the Argo CD itself.
var InCluster = Destination{Server: apis.InClusterServer}

// Canonical returns InCluster for both forms of the Argo CD's own cluster, and any other destination unchanged.
func (d Destination) Canonical() Destination {
	if d == (Destination{Name: apis.InClusterName}) {
		return InCluster
	}
	return d
}

// String returns the name, or the address.
func (d Destination) String() string {
	if d.Name != "" {
		return d.Name
	}
	return d.Server
}

// maxDestination is the greatest length of a name or address. The library of globs accepts no longer pattern.
const maxDestination = 512

// literal matches names and addresses without special characters of a glob. An AppProject can permit exactly one such
// destination.
var literal = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@+=,%~#-]*$`)

// Check returns an error for a destination that Argo CD or an AppProject cannot name.
func (d Destination) Check() error {
	switch text := d.String(); {
	case d.Name != "" && d.Server != "":
		return fmt.Errorf("%s and %s exclude each other: remove one of them", apis.AnnotationDestinationName, apis.AnnotationDestinationServer)
	case text == "":
		return fmt.Errorf("annotations %s and %s: the value is empty: set the name or the address of a cluster, or remove the annotation",
			apis.AnnotationDestinationName, apis.AnnotationDestinationServer)
	case len(text) > maxDestination || !literal.MatchString(text):
		return fmt.Errorf("annotation %s: %.80q is not the name or the address of a cluster: use letters, digits and ._:/@+=,%%~#- only",
			d.annotation(), text)
	}
	return nil
}

// annotation returns the key of the annotation for the destination.
func (d Destination) annotation() string {
	if d.Name != "" {
		return apis.AnnotationDestinationName
	}
	return apis.AnnotationDestinationServer
}

// Annotation returns the annotation of an Application for the destination, with its value.
func (d Destination) Annotation() string { return d.annotation() + ": " + d.String() }

// DestinationThere returns the destination of the Application on its cluster: the destination in its annotations, or
// InCluster without such an annotation.
func (a *Application) DestinationThere() Destination {
	name, named := a.Annotations[apis.AnnotationDestinationName]
	server, addressed := a.Annotations[apis.AnnotationDestinationServer]
	if !named && !addressed {
		return InCluster
	}
	return Destination{Name: name, Server: withoutSlash(server)}
}

// DestinationSaid returns the destination in the spec.
func (a *Application) DestinationSaid() Destination {
	name, server := a.Destination()
	return Destination{Name: name, Server: server}
}
