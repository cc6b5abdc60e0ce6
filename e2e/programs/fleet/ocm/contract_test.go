package ocm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ocmfeature "open-cluster-management.io/api/feature"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/ocm/pkg/features"
	"open-cluster-management.io/ocm/pkg/work/spoke/conditions"
	"open-cluster-management.io/ocm/pkg/work/spoke/statusfeedback"
	"open-cluster-management.io/ocm/pkg/work/webhook/common"
	"sigs.k8s.io/yaml"
)

const root = "../../../.."

// TestMain registers the feature gates as the agent does at its start, with all gates disabled.
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

// full is an Application with every field that a rule requests.
const full = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: a
  namespace: b
  resourceVersion: "42"
  uid: u
  creationTimestamp: "2026-01-02T03:00:00Z"
  managedFields:
  - {manager: work-agent, operation: Apply, time: "2026-01-02T03:00:01Z"}
  finalizers: [resources-finalizer.argocd.argoproj.io, example.com/mine]
  annotations:
    apps.open-cluster-management.io/refresh-request: one
    argocd.argoproj.io/refresh: hard
status:
  health: {status: Degraded, message: why, lastTransitionTime: "2026-01-02T03:04:05Z"}
  sync: {status: OutOfSync, revision: abc, revisions: [r0, r1, r2]}
  reconciledAt: "2026-01-02T03:04:05Z"
  sourceType: Helm
  sourceTypes: [Helm, Kustomize, Directory]
  resources:
  - {kind: Service, name: s, namespace: b, status: Synced, health: {status: Healthy}}
  - {group: apps, kind: Deployment, name: d, namespace: b, status: Synced, health: {status: Degraded, message: why}}
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
  initiatedBy: {automated: true}
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

// TestTheAgentReadsEveryRule: each rule returns a value for a full Application, and no error for an empty Application.
// An error would mark every work's feedback as failed.
func TestTheAgentReadsEveryRule(t *testing.T) {
	for _, name := range []string{"standalone", "multi-source", "refresh"} {
		for _, rule := range golden(t, name).Spec.ManifestConfigs[0].FeedbackRules {
			readEvery(t, name, rule)
		}
	}
}

func readEvery(t *testing.T, name string, rule workv1.FeedbackRule) {
	t.Helper()
	got := map[string]bool{}
	for _, v := range read(t, rule, full) {
		got[v.Name] = true
		want, checked := map[string]string{"conditionSyncError": "m", "conditionType": "ComparisonError", "conditionMessage": "m"}[v.Name]
		if s := v.Value.String; checked && (s == nil || *s != want) {
			t.Errorf("of several matches the agent does not report the first: %s is %v", v.Name, v.Value)
		}
	}
	for _, path := range rule.JsonPaths {
		if !got[path.Name] {
			t.Errorf("%s: rule %s gives nothing", name, path.Name)
		}
	}
	if values := read(t, rule, "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a, namespace: b}}"); len(values) != 0 {
		t.Errorf("%s: of an Application without status: %v", name, values)
	}
}

// read returns the agent's report for an Application.
func read(t *testing.T, rule workv1.FeedbackRule, application string) []workv1.FeedbackValue {
	t.Helper()
	values, err := statusfeedback.NewStatusReader().GetValuesByRule(object(t, application), rule)
	if err != nil {
		t.Error(err)
	}
	return values
}

// TestTheAgentReportsNoUnchangedComparison: a comparison without changes is a write on the cluster, and not a write of
// the work.
func TestTheAgentReportsNoUnchangedComparison(t *testing.T) {
	later := strings.NewReplacer(`resourceVersion: "42"`, `resourceVersion: "43"`, `reconciledAt: "2026-01-02T03:04:05Z"`,
		`reconciledAt: "2026-01-02T03:10:05Z"`).Replace(full)
	for _, name := range []string{"standalone", "multi-source"} { // standalone asks for details
		for _, rule := range golden(t, name).Spec.ManifestConfigs[0].FeedbackRules {
			if before, after := read(t, rule, full), read(t, rule, later); !reflect.DeepEqual(before, after) {
				t.Errorf("%s: the work is written for %v, after %v", name, after, before)
			}
		}
	}
	volatile := golden(t, "refresh").Spec.ManifestConfigs[0].FeedbackRules[1]
	if reflect.DeepEqual(read(t, volatile, full), read(t, volatile, later)) {
		t.Error("a comparison is not seen where somebody waits for it")
	}
}

// evaluated returns the agent's answer to a condition rule, for an Application.
func evaluated(t *testing.T, conditionType, application string) metav1.Condition {
	t.Helper()
	reader, err := conditions.NewConditionReader()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range reader.EvaluateConditions(t.Context(), object(t, application), golden(t, "standalone").Spec.ManifestConfigs[0].ConditionRules) {
		if c.Type == conditionType {
			return c
		}
	}
	t.Fatalf("the agent sets no condition %s", conditionType)
	return metav1.Condition{}
}

// TestTheConditionReportsAComparison: the agent reports a comparison by a condition. The condition stays the same until
// the next operation.
func TestTheConditionReportsAComparison(t *testing.T) {
	for title, tc := range map[string]struct {
		status string
		want   metav1.ConditionStatus
	}{
		"without a status":               {"", metav1.ConditionFalse},
		"not compared":                   {`{health: {status: Missing}}`, metav1.ConditionFalse},
		"compared, without an operation": {`{reconciledAt: "2026-01-02T03:04:05Z"}`, metav1.ConditionTrue},
		"an operation waits for the next attempt": {
			`{reconciledAt: "2026-01-02T03:04:05Z", operationState: {phase: Running, finishedAt: "2026-01-02T03:04:06Z"}}`, metav1.ConditionFalse},
		"it is over, compared before":   {over("2026-01-02T03:04:05Z"), metav1.ConditionFalse},
		"… compared in the same second": {over("2026-01-02T03:04:06Z"), metav1.ConditionTrue},
		"… compared since":              {over("2026-01-02T03:10:05Z"), metav1.ConditionTrue},
		"… never compared":              {`{operationState: {phase: Failed, finishedAt: "2026-01-02T03:04:06Z"}}`, metav1.ConditionFalse},
	} {
		t.Run(title, func(t *testing.T) {
			text := "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a, namespace: b}"
			if tc.status != "" {
				text += ", status: " + tc.status
			}
			if got := evaluated(t, "Compared", text+"}"); got.Status != tc.want || got.Reason != workv1.ConditionRuleEvaluated {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestTheConditionReportsAnEdit: a condition reports an edit, based on the managed fields of the agent.
func TestTheConditionReportsAnEdit(t *testing.T) {
	const fields, made = "apps.open-cluster-management.io/fields", "2026-01-02T03:00:00Z"
	entry := func(manager, operation, owns string) string {
		return "{manager: " + manager + ", operation: " + operation + ", time: \"2026-01-02T03:04:05Z\", fieldsType: FieldsV1, fieldsV1: " + owns + "}"
	}
	const own = `{"f:metadata": {"f:annotations": {"f:` + fields + `": {}}, "f:finalizers": {"v:\"a\"": {}}}`
	const all, less = own + `, "f:spec": {"f:source": {"f:helm": {"f:valuesObject": {"f:a": {".": {}, "f:b": {}, "f:c": {}}}}}}}`,
		own + `, "f:spec": {"f:source": {"f:helm": {"f:valuesObject": {"f:a": {".": {}, "f:c": {}}}}}}}`
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	for title, tc := range map[string]struct {
		annotations, more, managed string
		want                       metav1.ConditionStatus
		reason                     string
	}{
		"unedited":                   {fields + `: "4"`, "", entry("work-agent", "Apply", all), yes, workv1.ConditionRuleEvaluated},
		"no entry of the agent":      {fields + `: "4"`, "", entry("kubectl", "Apply", all), no, workv1.ConditionRuleEvaluated},
		"an edit":                    {fields + `: "4"`, "", entry("work-agent", "Apply", less), no, workv1.ConditionRuleEvaluated},
		"an edit, and others' words": {fields + `: "4"`, "", entry("kubectl", "Update", all) + ", " + entry("work-agent", "Apply", less), no, workv1.ConditionRuleEvaluated},
		"the number is gone":         {`a: b`, "", entry("work-agent", "Apply", all), no, workv1.ConditionRuleExpressionError},
		"the number is no number":    {fields + `: "x"`, "", entry("work-agent", "Apply", all), no, workv1.ConditionRuleExpressionError},
		"under deletion":             {fields + `: "4"`, `, deletionTimestamp: "` + made + `"`, entry("work-agent", "Apply", less), yes, workv1.ConditionRuleEvaluated},
		"many fields":                {fields + `: "9"`, "", entry("work-agent", "Apply", manyFields(5000)), yes, workv1.ConditionRuleEvaluated},
	} {
		t.Run(title, func(t *testing.T) {
			got := evaluated(t, "Unedited", "{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: a, namespace: b, "+
				"annotations: {"+tc.annotations+"}"+tc.more+", managedFields: ["+tc.managed+"]}}")
			if got.Status != tc.want || got.Reason != tc.reason {
				t.Errorf("%+v", got)
			}
		})
	}
}

// manyFields returns the managed fields of a large Application.
func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"f:field-%d": {}, `, i)
	}
	return `{"f:metadata": {"f:annotations": {"f:apps.open-cluster-management.io/fields": {}}}, "f:spec": {` + strings.TrimSuffix(b.String(), ", ") + `}}`
}

// over returns the status of an Application with a finished operation, and a comparison at the time.
func over(compared string) string {
	return fmt.Sprintf("{reconciledAt: %q, operationState: {phase: Succeeded, startedAt: \"2026-01-02T03:04:05Z\", "+
		"finishedAt: \"2026-01-02T03:04:06Z\", operation: {}}}", compared)
}

// TestTheAgentsWordsOnASourceThatIsNew: from this message, feedback.Parse recognizes that only the values of the new
// source are missing.
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
	for more, want := range map[int]bool{0: true, 1: false} {
		m := workv1.Manifest{}
		m.Raw = []byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b"},"data":{"text":""}}`)
		m.Raw = bytes.Replace(m.Raw, []byte(`""`), []byte(`"`+strings.Repeat("x", kib*1024+more-m.Size())+`"`), 1)
		for m.Size() != kib*1024+more { // the size counts the length field too
			m.Raw = bytes.Replace(m.Raw, []byte("x"), nil, 1)
		}
		if err := common.ManifestValidator.ValidateManifests([]workv1.Manifest{m}); (err == nil) != want {
			t.Errorf("MaxPayload is %d KiB, and the webhook says about %d bytes: %v", kib, m.Size(), err)
		}
	}
}
