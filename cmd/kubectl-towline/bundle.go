package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/towline-io/towline/pkg/bundle"
	"github.com/towline-io/towline/pkg/check"
)

// bundleOptions are the options of `kubectl towline bundle`.
type bundleOptions struct {
	*options

	file     string
	limit    int64
	logLines int64
}

func newBundleCommand(o *options) *cobra.Command {
	b := &bundleOptions{options: o, limit: 1000, logLines: 5000}
	cmd := &cobra.Command{
		Use: "bundle", Short: "Collect the data for a bug report in a tar.gz file, without secrets", Args: cobra.NoArgs,
		Example: "  kubectl towline bundle\n  kubectl towline bundle -f issue.tar.gz --limit 100",
		RunE:    func(cmd *cobra.Command, _ []string) error { return b.run(cmd.Context()) },
	}
	fs := cmd.Flags()
	fs.StringVarP(&b.file, "file", "f", "", "the file to write; default: towline-bundle-<time>.tar.gz")
	fs.Int64Var(&b.limit, "limit", b.limit, "maximum number of objects of each kind")
	fs.Int64Var(&b.logLines, "log-lines", b.logLines, "maximum number of lines of each log")
	return cmd
}

func (o *bundleOptions) run(ctx context.Context) error {
	config, err := (&checkOptions{options: o.options}).checked()
	if err != nil {
		return err
	}
	r, err := newFactReader(config)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	folder := "towline-bundle-" + now.Format("20060102-150405")
	if o.file == "" {
		o.file = folder + ".tar.gz"
	}
	c := &collector{factReader: r, archive: &bundle.Archive{Time: now}, limit: o.limit, logLines: o.logLines}
	if err := c.collect(ctx, o.options); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Clean(o.file), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := c.archive.Write(f, folder); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return o.printBundle(c.archive)
}

func (o *bundleOptions) printBundle(a *bundle.Archive) error {
	result := map[string]any{"file": o.file, "files": a.Names(), "notes": a.Notes()}
	if done, err := o.printed(result, o.file); done || err != nil {
		return err
	}
	p := &printer{to: o.Out}
	p.line("%s has %s. Look into it before you give it away: names of clusters, namespaces and repositories are in it, "+
		"and the workloads and events of Towline, Argo CD and other pull controllers.", o.file, check.Count(len(a.Names()), "file"))
	for _, n := range a.Notes() {
		p.line("? %s", plain(n))
	}
	return p.err
}

// collector reads the content of an archive.
type collector struct {
	*factReader

	archive         *bundle.Archive
	limit, logLines int64
}

// collect reads everything that the user may read. It notes refused and failed reads: half a bundle is better than
// none.
func (c *collector) collect(ctx context.Context, o *options) error {
	if err := c.hub(ctx, &o.towline); err != nil {
		c.archive.Note("check: %v", err)
	}
	c.facts.Plugin = version
	if err := c.add("check.yaml", check.Installation(c.facts)); err != nil {
		return err
	}
	if err := c.add("versions.yaml", map[string]any{
		"plugin": version, "kubernetes": c.facts.Kubernetes, "workloads": slices.DeleteFunc(slices.Clone(c.facts.Workloads), unrelated),
	}); err != nil {
		return err
	}
	for _, k := range bundled {
		if err := c.objects(ctx, k); err != nil {
			return err
		}
	}
	if err := c.events(ctx); err != nil {
		return err
	}
	if err := c.ofTowlines(ctx); err != nil {
		return err
	}
	notes := "Collected by kubectl towline bundle " + version + ". Values that may be secret are " + bundle.Redacted + ".\n" +
		strings.Join(append([]string{""}, c.archive.Notes()...), "\n- ") + "\n"
	c.archive.Add("README.txt", []byte(notes))
	return nil
}

// add adds a value as YAML, with redacted text.
func (c *collector) add(name string, value any) error {
	data, err := yaml.Marshal(value)
	if err == nil {
		c.archive.Add(name, []byte(bundle.Text(string(data))))
	}
	return err
}

// objects adds the objects of a kind, without secrets.
func (c *collector) objects(ctx context.Context, k bundledKind, more ...client.ListOption) error {
	opts := slices.Clone(more)
	if k.label != "" {
		var label client.ListOption = client.HasLabels{k.label}
		if key, value, ok := strings.Cut(k.label, "="); ok {
			label = client.MatchingLabels{key: value}
		}
		opts = append(opts, label)
	}
	var out strings.Builder
	for left, next := c.limit, ""; ; {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(k.gvk())
		err := c.List(ctx, list, append(slices.Clone(opts), client.Limit(min(left, bundlePage)), client.Continue(next))...)
		switch {
		case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
			return nil
		case err != nil:
			c.archive.Note("%s: %v", k.kind, err)
			return nil
		}
		if err := k.write(&out, list); err != nil {
			return err
		}
		left, next = left-int64(len(list.Items)), list.GetContinue()
		if next == "" {
			break
		}
		if left <= 0 || out.Len() > maxObjects {
			c.archive.Note("%s: only the first %d are there: --limit, or %d bytes", k.kind, c.limit-left, maxObjects)
			break
		}
	}
	if out.Len() > 0 {
		c.archive.Add("objects/"+k.file(), []byte(out.String()))
	}
	return nil
}

const (
	// bundlePage is the number of objects in a list request: each object may take a megabyte.
	bundlePage = 50

	// maxObjects is the size limit for the objects of a kind, in bytes. Above the limit, the bundle reads no more
	// pages.
	maxObjects = 64 << 20
)

// write appends objects of the kind as YAML.
func (k bundledKind) write(out *strings.Builder, list *unstructured.UnstructuredList) error {
	for i := range list.Items {
		data, err := yaml.Marshal(k.clean(&list.Items[i]))
		if err != nil {
			return fmt.Errorf("%s: %w", k.kind, err)
		}
		out.WriteString("---\n" + string(data))
	}
	return nil
}
