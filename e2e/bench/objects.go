package bench

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/towline-io/towline/pkg/apis"
)

// Names in the test objects without a special meaning.
const (
	clusterSet = "bench"
	repository = "https://github.com/argoproj/argocd-example-apps.git"
	// commit is the revision before the first change.
	commit = "53e28ff20cc530b9ada2173fbbd64d48338583ba"
)

// condition returns a condition of OCM's objects with status True.
func condition(kind, reason, message string, generation int64) object {
	c := object{"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": now()}
	if generation > 0 {
		c["observedGeneration"] = generation
	}
	return c
}

func now() string { return time.Now().UTC().Format(time.RFC3339) }

// managedCluster returns a ManagedCluster as the registration controller and agent leave it, also in size.
func managedCluster(name string) object {
	return object{
		"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
		"metadata": object{
			"name":   name,
			"labels": object{"name": name, "cluster.open-cluster-management.io/clusterset": clusterSet},
			"finalizers": []string{
				"cluster.open-cluster-management.io/resource-cleanup", "cluster.open-cluster-management.io/api-resource-cleanup",
			},
		},
		"spec": object{
			"hubAcceptsClient": true, "leaseDurationSeconds": 60,
			"managedClusterClientConfigs": []object{{
				"url":      "https://" + name + ".example.com:6443",
				"caBundle": base64.StdEncoding.EncodeToString([]byte(strings.Repeat("certificate ", 50))),
			}},
		},
	}
}

func managedClusterStatus() object {
	quantities := object{"cpu": "64", "memory": "256Gi", "pods": "1k"}
	return object{"status": object{
		"allocatable": quantities, "capacity": quantities, "version": object{"kubernetes": "v1.35.4"},
		"conditions": []object{
			condition("HubAcceptedManagedCluster", "HubClusterAdminAccepted", "Accepted by hub cluster admin", 0),
			condition("ManagedClusterJoined", "ManagedClusterJoined", "Managed cluster joined", 0),
			condition("ManagedClusterConditionAvailable", "ManagedClusterAvailable", "Managed cluster is available", 0),
			condition("ManagedClusterConditionClockSynced", "ManagedClusterClockSynced",
				"The clock of the managed cluster is synced with the hub.", 0),
		},
	}}
}

func applicationSet(name string) object {
	return object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet",
		"metadata": object{"name": name, "namespace": namespace},
		"spec": object{
			"generators": []object{{"clusters": object{}}},
			"template": object{
				"metadata": object{"name": "{{name}}-" + name},
				"spec":     applicationSpec(name),
			},
		},
	}
}

func applicationSpec(set string) object {
	return object{
		"project":     "default",
		"source":      object{"repoURL": repository, "targetRevision": "HEAD", "path": "guestbook"},
		"destination": object{"server": apis.InClusterServer, "namespace": set},
		"syncPolicy": object{
			"automated":   object{"prune": true, "selfHeal": true},
			"syncOptions": []string{"CreateNamespace=true"},
		},
	}
}

// application returns an Application in the form of the ApplicationSet controller (v2.14).
func (l layout) application(app int, setUID string) object {
	set := l.setName(l.set(app))
	return object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": object{
			"name": l.name(app), "namespace": namespace,
			"labels": object{apis.LabelPull: "true"},
			"annotations": object{
				apis.AnnotationCluster:       l.cluster(app),
				apis.AnnotationSkipReconcile: "true",
			},
			"finalizers": []string{apis.FinalizerResources},
			"ownerReferences": []object{{
				"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "name": set, "uid": setUID,
				"controller": true, "blockOwnerDeletion": true,
			}},
		},
		"spec":   applicationSpec(set),
		"status": object{"health": object{}, "sourceHydrator": object{}, "summary": object{}},
	}
}

// revision returns a commit hash with the number of a change.
func revision(number int) string { return fmt.Sprintf("%040x", number) }

// numberOf returns the number of the change in a revision, or 0 for commit and for an invalid revision.
func numberOf(revision string) int {
	var n int
	if len(revision) != len(commit) || revision == commit {
		return 0
	}
	if _, err := fmt.Sscanf(revision, "%x", &n); err != nil {
		return 0
	}
	return n
}
