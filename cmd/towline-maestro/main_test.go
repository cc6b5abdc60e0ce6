package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"
)

// TestTheDeploymentsArguments checks that the program accepts the arguments in the Deployment's manifest as flags.
func TestTheDeploymentsArguments(t *testing.T) {
	data, err := os.ReadFile("../../deploy/maestro/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	if err := yaml.UnmarshalStrict(data, &deployment); err != nil {
		t.Fatal(err)
	}
	args := deployment.Spec.Template.Spec.Containers[0].Args
	if err := newCommand().ParseFlags(args); err != nil {
		t.Error(err)
	}
}

// TestMissingFlagsAreNamed checks that the error for a missing or wrong option names the flag.
func TestMissingFlagsAreNamed(t *testing.T) {
	for want, args := range map[string][]string{
		"--maestro-url":       {"--maestro-grpc=a:1"},
		"--maestro-grpc":      {"--maestro-url=https://a"},
		"--maestro-key-file":  {"--maestro-url=https://a", "--maestro-grpc=a:1", "--maestro-cert-file=x"},
		"--maestro-plaintext": {"--maestro-url=http://a", "--maestro-grpc=a:1", "--maestro-token-file=x", "--maestro-plaintext"},
		"--source":            {"--maestro-url=https://a", "--maestro-grpc=a:1", "--source=a/b"},
	} {
		cmd := newCommand()
		cmd.SetArgs(args)
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// TestOrderOfTheShutdown checks the order at shutdown: the server ends, then the process releases the Lease. A hanging
// server delays the release by letGo at most. If the process loses the Lease, the server ends too.
func TestOrderOfTheShutdown(t *testing.T) {
	lost := errors.New("lost")
	for title, tc := range map[string]struct {
		ends time.Duration // how long the server takes to end
		lost bool
		want []string
	}{
		"it is to end":                   {time.Second, false, []string{"0s asked", "1s server", "1s lease"}},
		"the server hangs":               {time.Hour, false, []string{"0s asked", "40s lease", "1h0m0s server"}},
		"another process has the Lease":  {time.Second, true, []string{"0s lease", "1s server"}},
		"… and the server does not hang": {0, true, []string{"0s lease", "0s server"}},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, end := context.WithCancel(t.Context())
				began, seen := time.Now(), make(chan string, 3)
				note := func(what string) { seen <- time.Since(began).String() + " " + what }
				var want error
				if tc.lost {
					want = lost
				} else {
					note("asked")
					end()
				}
				err := whileLeading(ctx, func(ctx context.Context) error {
					<-ctx.Done()
					<-time.After(tc.ends)
					note("server")
					return nil
				}, func(ctx context.Context) error {
					if !tc.lost {
						<-ctx.Done()
					}
					note("lease")
					return want
				})
				end()
				close(seen)
				var got []string
				for s := range seen {
					got = append(got, s)
				}
				if slices.Sort(got); !errors.Is(err, want) || !slices.Equal(got, slices.Sorted(slices.Values(tc.want))) {
					t.Errorf("%v: %q, want %q", err, got, tc.want)
				}
			})
		})
	}
}
