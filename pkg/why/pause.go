package why

import (
	"fmt"
	"strings"

	"github.com/towline-io/towline/pkg/apis"
)

// ResumeCommand is the command that ends the pause of which a condition PausedWarning of an Application tells: the Application
// itself is paused, its ApplicationSet, or the namespace of a cluster.
func ResumeCommand(namespace, application, message string) string {
	_, by, _ := strings.Cut(message, apis.AnnotationPaused+" on ")
	kind, rest, _ := strings.Cut(by, " ")
	name := rest
	if end := strings.IndexAny(rest, ":, "); end >= 0 {
		name = rest[:end]
	}
	switch kind {
	case "Namespace":
		return "kubectl towline resume --cluster " + word(name)
	case "ApplicationSet":
		namespace, name, _ := strings.Cut(name, "/")
		return fmt.Sprintf("kubectl towline resume -n %s --applicationset %s", word(namespace), word(name))
	}
	return fmt.Sprintf("kubectl towline resume -n %s %s", namespace, application)
}
