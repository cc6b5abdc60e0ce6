package bundle_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/bundle"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"https://git.example.com/a.git":                                   "https://git.example.com/a.git",
		"get https://bob:hunter2@git.example.com/a.git: no":               "get https://REDACTED@git.example.com/a.git: no",
		"https://token@git.example.com/a@b":                               "https://REDACTED@git.example.com/a@b",
		"https://bob:hun@ter2@git.example.com/a":                          "https://REDACTED@git.example.com/a",
		"ssh://git:pa/ss@git.example.com/a":                               "ssh://git:REDACTED@git.example.com/a",
		"https://x.example/a?token=abcdef12&b=c":                          "https://x.example/a?token=REDACTED&b=c",
		"Authorization: Bearer abcdef123456":                              "Authorization: REDACTED REDACTED",
		"use eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln now":               "use REDACTED now",
		"password=hunter2, user=bob":                                      "password=REDACTED, user=bob",
		`{"clientSecret": "a\"b", "x": 1}`:                                `{"clientSecret": REDACTED, "x": 1}`,
		"--db-password hunter2 --verbose":                                 "--db-password REDACTED --verbose",
		"--redis-password-file=/etc/redis/auth":                           "--redis-password-file=/etc/redis/auth",
		"--client-secret=ab,cd --verbose":                                 "--client-secret=REDACTED --verbose",
		"Authorization: token 0123abc def\nnext":                          "Authorization: REDACTED\nnext",
		"a:\n  password: |\n    x\n    y\nb: 1":                           "a:\n  password: REDACTED\nb: 1",
		`{"msg": "password: |\n  x"}`:                                     `{"msg": "password: REDACTED`,
		"pwd=x pass=y dbpass: z":                                          "pwd=REDACTED pass=REDACTED dbpass: REDACTED",
		"passed=1, passing: 2":                                            "passed=1, passing: 2",
		"dial bob:hun@ter2@db.example:5432":                               "dial bob:REDACTED@db.example:5432",
		"git@git.example.com:a/b.git":                                     "git@git.example.com:a/b.git",
		"at 12:30:45 by a@b.example":                                      "at 12:30:45 by a@b.example",
		"secret_key=a,b":                                                  "secret_key=REDACTED",
		"AKIAIOSFODNN7EXAMPLE and ghp_0123456789abcdef":                   "REDACTED and REDACTED",
		"-----BEGIN RSA PRIVATE KEY-----\nabc\nnothing ends it here":      "REDACTED",
		"a -----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY----- b": "a REDACTED b",
		"secrets is forbidden: User \"a\" cannot list":                    "secrets is forbidden: User \"a\" cannot list",
	} {
		got := bundle.Text(in)
		if in == "secrets is forbidden: User \"a\" cannot list" {
			if !strings.Contains(got, "cannot list") { // the redaction may remove a word of the sentence
				t.Errorf("%q: %q", in, got)
			}
			continue
		}
		if in == "Authorization: Bearer abcdef123456" {
			if strings.Contains(got, "abcdef") {
				t.Errorf("%q: %q", in, got)
			}
			continue
		}
		if got != want {
			t.Errorf("%q:\n got %q\nwant %q", in, got, want)
		}
	}
}

func object(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestObject(t *testing.T) {
	in := object(t, `
kind: Application
metadata:
  name: a
  managedFields: [{manager: x}]
  annotations:
    apps.open-cluster-management.io/ocm-managed-cluster: c1
    argocd.argoproj.io/refresh: hard
    kubectl.kubernetes.io/last-applied-configuration: '{"s3cret":1}'
    example.com/token: s3cret
    apps.open-cluster-management.io/odd: '{"a": "s3cret"}'
spec:
  source:
    repoURL: https://u:s3cret@git.example.com/a.git
    path: p
    helm:
      releaseName: s3cret
      parameters: [{name: image, value: s3cret, forceString: true}]
      valuesObject: {replicas: 4711, deep: {password: s3cret}}
    plugin: {name: cmp, env: [{name: A, value: s3cret}]}
  info: [{name: url, value: s3cret}]
operation:
  sync: {revision: abc, manifests: [s3cret]}
status:
  operationState: {message: "clone https://u:s3cret@git.example.com failed"}
`)
	before, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	got := bundle.Object(in)
	want := object(t, `
kind: Application
metadata:
  name: a
  annotations:
    apps.open-cluster-management.io/ocm-managed-cluster: c1
    argocd.argoproj.io/refresh: hard
    example.com/token: REDACTED
    apps.open-cluster-management.io/odd: REDACTED
spec:
  source:
    repoURL: https://REDACTED@git.example.com/a.git
    path: p
    helm:
      releaseName: REDACTED
      parameters: [{name: image, value: REDACTED, forceString: true}]
      valuesObject: {replicas: REDACTED, deep: {password: REDACTED}}
    plugin: {name: cmp, env: [{name: A, value: REDACTED}]}
  info: [{name: url, value: REDACTED}]
operation:
  sync: {revision: abc, manifests: [REDACTED]}
status:
  operationState: {message: "clone https://REDACTED@git.example.com failed"}
`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if after, err := json.Marshal(in); err != nil || string(after) != string(before) {
		t.Errorf("the object was changed: %v", err)
	}
}

// TestEachPlaceOfASecret checks that the output has no secret from any of the places.
func TestEachPlaceOfASecret(t *testing.T) {
	for title, text := range map[string]string{
		"a Secret in a work":       `{spec: {workload: {manifests: [{kind: Secret, data: {a: s3cret}, stringData: {b: s3cret}}]}}}`,
		"a ConfigMap in a work":    `{spec: {workload: {manifests: [{kind: ConfigMap, data: {a: s3cret}}]}}}`,
		"an environment variable":  `{spec: {template: {spec: {containers: [{env: [{name: A, value: s3cret}], command: [sh, s3cret]}]}}}}`,
		"an argument":              `{spec: {template: {spec: {containers: [{args: ["--x-password=s3cret"]}]}}}}`,
		"an Application in a work": `{spec: {workload: {manifests: [{kind: Application, spec: {sources: [{helm: {values: "a: s3cret"}}]}}]}}}`,
		"generators":               `{spec: {generators: [{list: {elements: [{a: s3cret}]}}, {plugin: {input: {parameters: {a: s3cret}}}}]}}`,
		"a name among values":      `{spec: {source: {helm: {valuesObject: {name: s3cret}}}}}`,
		"a template patch":         `{spec: {templatePatch: s3cret}}`,
		"values of generators":     `{spec: {generators: [{clusters: {values: {a: s3cret}}}]}}`,
		"kustomize":                `{spec: {source: {kustomize: {patches: [{patch: s3cret}], commonAnnotations: {a: s3cret}}}}}`,
		"a key of a map":           `{status: {"https://u:s3cret@h/": 1}}`,
		"history":                  `{status: {history: [{source: {repoURL: "https://s3cret@h/", helm: {values: s3cret}}}]}}`,
		"feedback":                 `{status: {resourceStatus: {manifests: [{statusFeedback: {values: [{fieldValue: {string: "password: s3cret"}}]}}]}}}`,
		"keys":                     `{spec: {apiKey: s3cret, privateKey: s3cret, accessKey: s3cret, secretKey: s3cret, aws_secret_access_key: s3cret}}`,
		"a list of tokens":         `{spec: {tokens: [s3cret]}}`,
		"a map with a password":    `{spec: {password: {value: s3cret, name: s3cret}, credentials: [{name: s3cret, value: s3cret}]}}`,
		"two arguments":            `{spec: {template: {spec: {containers: [{args: ["--client-secret", "s3cret", "-db-pass", "-s3cret"]}]}}}}`,
		"a header":                 `{status: {message: "Authorization: token 12 s3cret"}}`,
		"a block":                  `{status: {message: "password: |\n  s3cret\n"}}`,
		"a flag with a comma":      `{status: {message: "--client-secret=ab,s3cret"}}`,
		"no scheme":                `{status: {message: "u:s3cret@h"}}`,
		"short names":              `{status: {message: "pwd=s3cret pass=s3cret", pass: s3cret, pwd: s3cret}}`,
		"JSON lines":               `{metadata: {annotations: {argocd.argoproj.io/x: "{\"a\": \"s3cret\"}\n{}", kubernetes.io/y: "1\n[\"s3cret\"]\n"}}}`,
		"a claim":                  `{status: {clusterClaims: [{name: a, value: "https://u:s3cret@h"}]}}`,
	} {
		out, err := json.Marshal(bundle.Object(object(t, text)))
		if err != nil || strings.Contains(string(out), "s3cret") {
			t.Errorf("%s: %v, %s", title, err, out)
		}
	}
}

// TestNames checks that names of secrets stay, so readers can identify the secret.
func TestNames(t *testing.T) {
	in := object(t, `{spec: {secretKeyRef: {name: a, key: password}, secretName: b, tokenRefs: [{name: c}],
	  automountServiceAccountToken: true, password: ""}}`)
	if diff := cmp.Diff(in, bundle.Object(in)); diff != "" {
		t.Error(diff)
	}
}

// TestDependency checks that only kinds and names of the manifests stay.
func TestDependency(t *testing.T) {
	got := bundle.Dependency(object(t, `{kind: ManifestWork, metadata: {name: w}, spec: {workload: {manifests: [
	  {apiVersion: v1, kind: Odd, metadata: {name: a, namespace: b, labels: {x: s3cret}}, spec: {odd: s3cret}},
	  {apiVersion: v1, kind: Empty}, s3cret]}}}`))
	want := object(t, `{kind: ManifestWork, metadata: {name: w}, spec: {workload: {manifests: [
	  {apiVersion: v1, kind: Odd, metadata: {name: a, namespace: b}}, {apiVersion: v1, kind: Empty}, {}]}}}`)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// plainSecret matches a secret unlike all other text.
var plainSecret = regexp.MustCompile(`^Xa3k[A-Za-z0-9]{8,36}$`)

// FuzzRedact checks that a credential in any of the places never reaches the output, with any text around it. Each
// input tries a single place, because the patterns are slow.
func FuzzRedact(f *testing.F) {
	for place := range uint8(10) {
		f.Add(place, "clone ", "Xa3kq9Zp0LmQ", " failed", "k")
		f.Add(place, "https://", "Xa3kq9Zp0LmQ", "@h", "annotations")
		f.Add(place, "-----BEGIN PRIVATE KEY-----", "Xa3kq9Zp0LmQ", `"'\`, "apiKey")
		f.Add(place, "--client-secret", "Xa3kq9Zp0LmQ", ",cd\n  x", "args")
		f.Add(place, "Authorization: token", "Xa3kq9Zp0LmQ", "@", "tokens")
	}
	f.Fuzz(func(t *testing.T, place uint8, before, secret, after, key string) {
		if !plainSecret.MatchString(secret) || strings.Contains(before+after+key, secret) || len(before)+len(after)+len(key) > 1000 {
			return
		}
		texts := []string{
			before + " https://u:" + secret + "@h.example/ " + after, before + " password=" + secret + " " + after,
			before + " --client-secret=ab," + secret + " " + after, before + "\nAuthorization: token 12 " + secret + " " + after,
			before + "\npassword: |\n  " + secret + "\n" + after, before + " user:" + secret + "@host " + after,
			before + " pwd=" + secret + " " + after, before + " pass=" + secret + " " + after,
			before + " -----BEGIN PRIVATE KEY-----\n" + secret + "\n-----END PRIVATE KEY----- " + after,
		}
		if which := int(place) % (len(texts) + 1); which < len(texts) {
			if got := bundle.Text(texts[which]); strings.Contains(got, secret) {
				t.Errorf("%q gives %q", texts[which], got)
			}
			return
		}
		redactedObject(t, before, secret, after, key)
	})
}

// redactedObject checks that no field with a possible secret reaches the output.
func redactedObject(t *testing.T, before, secret, after, key string) {
	t.Helper()
	o := map[string]any{
		key:    before,
		"kind": "Secret", "data": map[string]any{key: secret, "b": []any{secret}}, "stringData": map[string]any{key: secret},
		"spec": map[string]any{"helm": map[string]any{key: map[string]any{"a": secret}}, "env": []any{map[string]any{"name": "A", "value": secret}},
			"apiKey": secret, "aws_secret_access_key": secret, "tokens": []any{secret}, "password": map[string]any{key: secret},
			"args": []any{before, "--client-secret", secret, after}},
		"metadata": map[string]any{"annotations": map[string]any{
			"example.com/x": secret, "argocd.argoproj.io/x": before + "\n{\"a\": \"" + secret + "\"}\n",
		}},
	}
	if slices.Contains([]string{"kind", "data", "stringData", "spec", "metadata"}, key) {
		return
	}
	out, err := json.Marshal(bundle.Object(o))
	if err != nil || strings.Contains(string(out), secret) {
		t.Errorf("%v: %s", err, out)
	}
}
