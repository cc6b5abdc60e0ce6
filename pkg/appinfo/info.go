package appinfo

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
)

// The metric as Argo CD describes it.
const (
	Name = "argocd_app_info"
	Help = "Information about application."
)

// Labels are those of the metric, in Argo CD's order.
var Labels = []string{
	"namespace", "name", "project", "autosync_enabled", "repo", "dest_server", "dest_namespace", "sync_status", "health_status", "operation",
}

// unknown is what Argo CD says of a health or sync status that is not known.
const unknown = "Unknown"

// spec is the part of an Application's spec that the metric tells of.
type spec struct {
	Project     string   `json:"project"`
	Source      *source  `json:"source"`
	Sources     []source `json:"sources"`
	Destination struct {
		Server    string `json:"server"`
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"destination"`
	SourceHydrator *struct {
		DrySource  source `json:"drySource"`
		SyncSource source `json:"syncSource"`
	} `json:"sourceHydrator"`
	SyncPolicy *struct {
		Automated *struct {
			Enabled *bool `json:"enabled"`
		} `json:"automated"`
	} `json:"syncPolicy"`
}

type source struct {
	RepoURL string `json:"repoURL"`
}

// Values are those of Labels for an Application. Of a spec that cannot be read, what it says is empty.
func Values(app *argocd.Application) []string {
	s := spec{}
	if json.Unmarshal(app.Spec.Raw, &s) != nil {
		s = spec{}
	}
	sync := ""
	if app.Status.Sync != nil {
		sync = app.Status.Sync.Status
	}
	return []string{
		app.Namespace, app.Name, cmp.Or(s.Project, argocd.DefaultProject), strconv.FormatBool(s.automated()), normalize(s.repository()),
		s.server(app.DestinationThere().Canonical()), s.Destination.Namespace, cmp.Or(sync, unknown), cmp.Or(app.Status.Health.Status, unknown),
		operation(app),
	}
}

func (s *spec) automated() bool {
	return s.SyncPolicy != nil && s.SyncPolicy.Automated != nil &&
		(s.SyncPolicy.Automated.Enabled == nil || *s.SyncPolicy.Automated.Enabled)
}

// repository is that of the first source.
func (s *spec) repository() string {
	switch {
	case s.SourceHydrator != nil:
		return cmp.Or(s.SourceHydrator.SyncSource.RepoURL, s.SourceHydrator.DrySource.RepoURL)
	case len(s.Sources) > 0:
		return s.Sources[0].RepoURL
	case s.Source != nil:
		return s.Source.RepoURL
	}
	return ""
}

// server is the address of the destination as the Application's cluster has it. Argo CD looks names up among its clusters. The hub
// knows the address of in-cluster, and of no other name.
func (s *spec) server(there argocd.Destination) string {
	if there != argocd.InCluster {
		return there.Server
	}
	if s.Destination.Server == "" && s.Destination.Name == "in-cluster" {
		return apis.InClusterServer
	}
	return s.Destination.Server
}

// operation is what is asked for on the hub: an operation that the cluster has taken is not there any more.
func operation(app *argocd.Application) string {
	if app.DeletionTimestamp != nil {
		return "delete"
	}
	var asked struct {
		Sync json.RawMessage `json:"sync"`
	}
	if app.Operation != nil && json.Unmarshal(app.Operation.Raw, &asked) == nil && len(asked.Sync) > 0 && string(asked.Sync) != "null" {
		return "sync"
	}
	return ""
}

// ssh is an address of a repository that is reached by SSH.
var ssh = regexp.MustCompile("^(ssh://)?[^/:]*?@[^@]+$")

// normalize is the address of a repository as Argo CD compares it.
func normalize(repository string) string {
	repository = strings.ToLower(strings.TrimSpace(repository))
	if ssh.MatchString(repository) && !strings.HasPrefix(repository, "ssh://") {
		repository = "ssh://" + strings.Replace(repository, ":", "/", 1)
	}
	u, err := url.Parse(strings.TrimSuffix(repository, ".git"))
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(u.String(), "ssh://")
}
