package appinfo

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/towline-io/towline/pkg/apis"
	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/authorization"
)

// The name and the help text of the metric, as in Argo CD.
const (
	Name = "argocd_app_info"
	Help = "Information about application."
)

// Labels are the labels of the metric, in Argo CD's order.
var Labels = []string{
	"namespace", "name", "project", "autosync_enabled", "repo", "dest_server", "dest_namespace", "sync_status", "health_status", "operation",
}

// unknown is Argo CD's value for an unknown health or sync status.
const unknown = "Unknown"

// spec has the parts of an Application's spec for the metric.
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

// Values returns the values of Labels for an Application. An unreadable spec gives empty values or defaults.
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
		app.Namespace, app.Name, cmp.Or(s.Project, argocd.DefaultProject), strconv.FormatBool(s.automated()), authorization.NormalizeURL(s.repository()),
		s.server(app.DestinationThere().Canonical()), s.Destination.Namespace, cmp.Or(sync, unknown), cmp.Or(app.Status.Health.Status, unknown),
		operation(app),
	}
}

func (s *spec) automated() bool {
	return s.SyncPolicy != nil && s.SyncPolicy.Automated != nil &&
		(s.SyncPolicy.Automated.Enabled == nil || *s.SyncPolicy.Automated.Enabled)
}

// repository returns the address of the first source's repository.
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

// server returns the address of the destination, as seen by the Application's cluster. Argo CD looks up names among its
// clusters. The hub knows only the address of the name in-cluster.
func (s *spec) server(there argocd.Destination) string {
	if there != argocd.InCluster {
		return there.Server
	}
	if s.Destination.Server == "" && s.Destination.Name == "in-cluster" {
		return apis.InClusterServer
	}
	return s.Destination.Server
}

// operation returns the operation on the hub. An operation taken by the cluster is no longer on the hub.
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
