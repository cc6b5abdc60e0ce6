package why

import (
	"fmt"
	"strings"

	"github.com/towline-io/towline/pkg/apis"
)

// ResumeCommand returns the command to end the pause in the message of a condition PausedWarning. The paused object is
// the Application itself, its ApplicationSet, or the namespace of a cluster.
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
