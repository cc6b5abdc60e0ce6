package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// removedFlags are flags of former versions, each with a replacement.
var removedFlags = map[string]string{ //nolint:gosec // names of flags, and no credentials
	"aggregation-concurrency":     "use --concurrency, which is for all controllers",
	"decisions-concurrency":       "use --concurrency, which is for all controllers",
	"dependencies-concurrency":    "use --concurrency, which is for all controllers",
	"gitopscluster-concurrency":   "use --concurrency, which is for all controllers",
	"placement-concurrency":       "use --concurrency, which is for all controllers",
	"propagation-concurrency":     "use --concurrency, which is for all controllers",
	"resourcetree-concurrency":    "use --concurrency, which is for all controllers",
	"status-concurrency":          "use --concurrency, which is for all controllers",
	"argocd-redis-use-tls":        "let the file address in the folder of --argocd-redis begin with rediss://",
	"argocd-redis-ca-certificate": "put it as ca.crt into the folder of --argocd-redis",
	"argocd-redis-password-file":  "put it as password into the folder of --argocd-redis",
	"argocd-redis-compress":       "put it as compression into the folder of --argocd-redis",
	"search-url":                  "put it as url into the folder of --search",
	"search-ca-file":              "put it as ca.crt into the folder of --search",
	"search-token-file":           "put it as token into the folder of --search",
	"search-interval":             "Towline asks Search every 10 seconds",
	"propagate-app-projects":      "use --propagate, a list that has app-projects by default",
	"propagate-namespaces":        "use --propagate, a list that has namespaces by default",
	"propagate-objects":           "use --propagate=app-projects,namespaces,objects",
	"report-max-bytes":            "a report has 1 MiB at most",
	"revocation-grace":            "Towline deletes a ManifestWork after a rule has refused it for one minute",
	"revocation-limit":            "Towline deletes at most 10 ManifestWorks within ten minutes",
	"leader-election-namespace":   "the Lease is in the namespace of the pod, or in --argocd-namespace outside a pod",
	"kube-api-qps":                "the API server's priority and fairness limits Towline's requests",
	"kube-api-burst":              "the API server's priority and fairness limits Towline's requests",
	"graceful-shutdown-timeout":   "Towline has 30 seconds after SIGTERM",
}

// explainRemoved returns the error of a command line. For a flag of a former version, the error names the
// replacement.
func explainRemoved(_ *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	instead, ok := removedFlags[unknown.GetSpecifiedName()]
	if !ok {
		return err
	}
	return fmt.Errorf("--%s does not exist any more: %s", unknown.GetSpecifiedName(), instead)
}
