package ocm

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ocmfeature "open-cluster-management.io/api/feature"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/ocm/pkg/features"
	"open-cluster-management.io/ocm/pkg/work/spoke/statusfeedback"
	"open-cluster-management.io/ocm/pkg/work/webhook"
	"open-cluster-management.io/ocm/pkg/work/webhook/common"
	"sigs.k8s.io/yaml"
)

const root = "../../.."

// TestMain registers the feature gates as the agent does at its start: all of them off.
func TestMain(m *testing.M) {
	if err := features.SpokeMutableFeatureGate.Add(ocmfeature.DefaultSpokeWorkFeatureGates); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

func golden(t *testing.T, name string) *workv1.ManifestWork {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "pkg/work/testdata", name+".golden.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w := &workv1.ManifestWork{}
	if err := yaml.UnmarshalStrict(data, w); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return w
}

// full is an Application with every field that a rule asks for.
const full = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: a, namespace: b, resourceVersion: "42", uid: u}
status:
  health: {status: Degraded, message: why, lastTransitionTime: "2026-01-02T03:04:05Z"}
  sync: {status: OutOfSync, revision: abc, revisions: [r0, r1, r2]}
  reconciledAt: "2026-01-02T03:04:05Z"
  operationState:
    phase: Failed
    message: it failed
    startedAt: "2026-01-02T03:04:05Z"
    finishedAt: "2026-01-02T03:04:06Z"
    retryCount: 2
    syncResult: {revision: abc, revisions: [r0, r1, r2]}
    operation:
      initiatedBy: {username: me, automated: true}
      info: [{name: apps.open-cluster-management.io/request, value: r-1}]
      sync: {dryRun: true}
  conditions:
  - {type: ComparisonError, message: m}
  - {type: DeletionError, message: m}
  - {type: ExcludedResourceWarning, message: m}
  - {type: InvalidSpecError, message: m}
  - {type: OrphanedResourceWarning, message: m}
  - {type: RepeatedResourceWarning, message: m}
  - {type: SharedResourceWarning, message: m}
  - {type: SyncError, message: m}
  - {type: SyncError, message: second}
  - {type: UnknownError, message: m}
operation:
  info: [{name: apps.open-cluster-management.io/request, value: r-2}]
`

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := obj.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestTheAgentReadsEveryRule: each rule gives a value from an Application that has everything, and no error from
// one that has nothing yet; an error would mark every work's feedback as failed.
func TestTheAgentReadsEveryRule(t *testing.T) {
	for _, name := range []string{"standalone", "multi-source"} {
		rule := golden(t, name).Spec.ManifestConfigs[0].FeedbackRules[0]
		reader := statusfeedback.NewStatusReader()
		values, err := reader.GetValuesByRule(object(t, full), rule)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := map[string]bool{}
		for _, v := range values {
			got[v.Name] = true
			if s := v.Value.String; v.Name == "conditionSyncError" && (s == nil || *s != "m") {
				t.Errorf("of two conditions of a type the agent does not report the first: %v", v.Value)
			}
		}
		for _, path := range rule.JsonPaths {
			if !got[path.Name] {
				t.Errorf("%s: rule %s gives nothing", name, path.Name)
			}
		}
		empty := object(t, "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a, namespace: b}}")
		if values, err := reader.GetValuesByRule(empty, rule); err != nil || len(values) != 0 {
			t.Errorf("%s: of an Application without status: %v, %v", name, values, err)
		}
	}
}

// TestTheAgentsWordsOnASourceThatIsNew: by them feedback.Parse tells that nothing else is unknown.
func TestTheAgentsWordsOnASourceThatIsNew(t *testing.T) {
	rule := golden(t, "multi-source").Spec.ManifestConfigs[0].FeedbackRules[0]
	shorter := object(t, strings.ReplaceAll(full, "[r0, r1, r2]", "[r0, r1]"))
	_, err := statusfeedback.NewStatusReader().GetValuesByRule(shorter, rule)
	const want = "[failed to find value for syncRevisions2 with error: array index out of bounds: index 2, length 2, " +
		"failed to find value for operationStateSyncRevisions2 with error: array index out of bounds: index 2, length 2]"
	if err == nil || err.Error() != want {
		t.Errorf("the agent says %v, want %s", err, want)
	}
}

func TestTheWebhookAcceptsTheWorks(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "pkg/work/testdata/*.golden.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, file := range files {
		name := filepath.Base(file[:len(file)-len(".golden.yaml")])
		if err := common.ManifestValidator.ValidateManifests(golden(t, name).Spec.Workload.Manifests); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheSizeLimitIsTheWebhooks(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "pkg/work/render.go"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`MaxPayload = (\d+) \* 1024`).FindSubmatch(data)
	if m == nil {
		t.Fatal("pkg/work has no MaxPayload")
	}
	kib, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	if want := webhook.NewOptions().ManifestLimit; kib*1024 != want {
		t.Errorf("MaxPayload is %d KiB, the webhook allows %d bytes", kib, want)
	}
}
