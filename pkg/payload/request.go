package payload

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/towline-io/towline/pkg/apis/argocd"
	"github.com/towline-io/towline/pkg/source"
)

// Request returns the manifest of an operation; for an empty operation, the manifest of a request to stop the running
// operation. version is the resourceVersion that the cluster's Application must have.
func Request(app *argocd.Application, operation json.RawMessage, version string) ([]byte, error) {
	key, value := "operation", operation
	if len(operation) == 0 {
		key, value = "status", json.RawMessage(`{"operationState":{"phase":"Terminating"}}`)
	} else if app.SourceAddress != "" {
		var err error
		if value, err = throughHub(operation, app); err != nil {
			return nil, err
		}
	}
	metadata := map[string]json.RawMessage{
		"name": quoted(app.Name), "namespace": quoted(app.ClusterNamespace()), "resourceVersion": quoted(version),
	}
	return compact(map[string]json.RawMessage{"apiVersion": apiVersion, "kind": kind, "metadata": jsonOf(metadata), key: value})
}

// throughHub returns an operation whose sources come through the hub. An operation may have its own sources, for
// example in a rollback.
func throughHub(operation json.RawMessage, app *argocd.Application) (json.RawMessage, error) {
	fields, err := object(operation)
	if err != nil {
		return nil, fmt.Errorf("operation: %w", err)
	}
	sync, err := object(fields["sync"])
	if err != nil {
		return nil, fmt.Errorf("operation.sync: %w", err)
	}
	if err := source.Through(app.SourceAddress, app.Project(), sync); err != nil {
		return nil, fmt.Errorf("operation.sync.%w", err)
	}
	fields["sync"] = jsonOf(sync)
	return jsonOf(fields), nil
}

// NameOnly returns a manifest with only the namespace and name of an Application.
func NameOnly(key types.NamespacedName) []byte {
	metadata := map[string]json.RawMessage{"name": quoted(key.Name), "namespace": quoted(key.Namespace)}
	return jsonOf(map[string]json.RawMessage{"apiVersion": apiVersion, "kind": kind, "metadata": jsonOf(metadata)})
}
