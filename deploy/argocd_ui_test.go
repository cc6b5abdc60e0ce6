package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	sigsyaml "sigs.k8s.io/yaml"
)

// argocdServer is a part of Argo CD's Deployment argocd-server. The component adds the extension to the part. /tmp is
// already a volume of the Deployment.
const argocdServer = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: argocd-server
spec:
  selector: {matchLabels: {app.kubernetes.io/name: argocd-server}}
  template:
    metadata: {labels: {app.kubernetes.io/name: argocd-server}}
    spec:
      containers:
      - name: argocd-server
        image: argocd
        volumeMounts:
        - {name: tmp, mountPath: /tmp}
      volumes:
      - {name: tmp, emptyDir: {}}
`

// TestArgoCDUIExtension: the component mounts the extension in argocd-server's folder for extensions, under a file name
// accepted by argocd-server (server/server.go of Argo CD 3.5). The component does not change the existing volumes.
func TestArgoCDUIExtension(t *testing.T) {
	dir := renderFolder(t, ".")
	for name, text := range map[string]string{
		"server.yaml":        argocdServer,
		"kustomization.yaml": "namespace: argocd\nresources: [server.yaml]\ncomponents: [../argocd-ui-extension]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "go", "tool", "-modfile=../.ci/tools/go.mod", "kustomize", "build", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	var files corev1.ConfigMap
	var server appsv1.Deployment
	for doc := range strings.SplitSeq(string(out), "\n---\n") {
		into := any(&server)
		if strings.Contains(doc, "kind: ConfigMap\n") {
			into = &files
		}
		if err := sigsyaml.Unmarshal([]byte(doc), into); err != nil {
			t.Fatal(err)
		}
	}
	for name := range files.Data {
		if !regexp.MustCompile(`^extension(.*)\.js$`).MatchString(name) {
			t.Errorf("argocd-server does not take %s", name)
		}
	}
	pod := server.Spec.Template.Spec
	mounts := map[string]string{}
	for _, m := range pod.Containers[0].VolumeMounts {
		mounts[m.Name] = m.MountPath
	}
	if len(files.Data) != 1 || len(pod.Volumes) != 2 || mounts["tmp"] != "/tmp" || mounts["towline-ui-extension"] != "/tmp/extensions/towline" {
		t.Errorf("%d files, mounts %v, volumes %v", len(files.Data), mounts, pod.Volumes)
	}
	for _, v := range pod.Volumes {
		if v.ConfigMap != nil && (v.ConfigMap.Name != files.Name || files.Namespace != server.Namespace) {
			t.Errorf("mounts %s, and there is %s/%s", v.ConfigMap.Name, files.Namespace, files.Name)
		}
	}
}
