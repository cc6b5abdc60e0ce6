package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Remote is a repository on a Git server.
type Remote struct {
	// URL is the address of the repository.
	URL string

	// Env are the variables of the environment with the credential for the Git server.
	Env []string
}

// Refs are the references of a remote repository: lines of git's ls-remote.
type Refs struct {
	lines []string
}

// Head returns the reference that HEAD of the remote names, for example "refs/heads/main"; empty for a detached HEAD.
func (r Refs) Head() string {
	for _, line := range r.lines {
		if target, ok := strings.CutPrefix(line, "ref: "); ok && strings.HasSuffix(target, "\tHEAD") {
			return strings.TrimSuffix(target, "\tHEAD")
		}
	}
	return ""
}

// Digest identifies the references.
func (r Refs) Digest() string {
	sum := sha256.Sum256([]byte(strings.Join(r.lines, "\n")))
	return hex.EncodeToString(sum[:])
}

// Len returns the number of references.
func (r Refs) Len() int {
	n := 0
	for _, line := range r.lines {
		if line != "" && !strings.HasPrefix(line, "ref: ") {
			n++
		}
	}
	return n
}

// Only returns the given references that the remote has.
func (r Refs) Only(refs []string) []string {
	return slices.DeleteFunc(slices.Clone(refs), func(ref string) bool {
		return !slices.ContainsFunc(r.lines, func(line string) bool { return strings.HasSuffix(line, "\t"+ref) })
	})
}

// ReadRefs reads HEAD, the branches and tags, and the further references of a remote repository.
func ReadRefs(ctx context.Context, remote Remote, further []string) (Refs, error) {
	patterns := append([]string{"HEAD", "refs/heads/*", "refs/tags/*"}, further...)
	out, err := run(ctx, "", remote.Env, append([]string{"ls-remote", "--symref", "--", remote.URL}, patterns...)...)
	if err != nil {
		return Refs{}, err
	}
	return Refs{lines: strings.Split(strings.TrimSpace(out), "\n")}, nil
}

// A Mirror is a bare repository in a folder.
type Mirror struct {
	Dir string

	// Shown are the references that clients see, besides branches and tags. Clients would also see references below them.
	Shown []string
}

// Create creates an empty mirror. Clients may ask for each commit of the mirror, as in Argo CD's requests for a commit
// of the targetRevision.
func (m Mirror) Create(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(m.Dir, "HEAD")); err == nil {
		return nil
	}
	if err := os.MkdirAll(m.Dir, 0o700); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=main", "."},
		{"config", "uploadpack.allowAnySHA1InWant", "true"},
		{"config", "uploadpack.allowFilter", "true"},
		{"config", "gc.auto", "0"},
		{"config", "transfer.unpackLimit", "1"}, // a fetched pack is sent on as it is, and single objects are packed for each cluster
	} {
		if _, err := run(ctx, m.Dir, nil, args...); err != nil {
			return err
		}
	}
	return nil
}

// Fetch makes the mirror equal to the remote repository: HEAD, branches and tags, and the further references. Branches
// and tags that the remote has lost are removed. A force push replaces the branch.
func (m Mirror) Fetch(ctx context.Context, remote Remote, refs Refs, further []string) error {
	specs := []string{"+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"}
	for _, ref := range refs.Only(further) {
		specs = append(specs, "+"+ref+":"+ref)
	}
	args := append([]string{"fetch", "--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--", remote.URL}, specs...)
	if _, err := run(ctx, m.Dir, remote.Env, args...); err != nil {
		return err
	}
	if head := refs.Head(); head != "" {
		_, err := run(ctx, m.Dir, nil, "symbolic-ref", "HEAD", head)
		return err
	}
	return nil
}

// FetchCommits fetches commits of the remote repository, each with a reference that keeps the commit. A Git server may lack or
// refuse a commit: the mirror then has no such commit, and FetchCommits returns no error.
func (m Mirror) FetchCommits(ctx context.Context, remote Remote, commits []string) error {
	for _, commit := range commits {
		_, err := run(ctx, m.Dir, remote.Env, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--",
			remote.URL, commit+":refs/commits/"+commit)
		if ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// Size returns the bytes of the mirror's objects on the disk.
func (m Mirror) Size() (int64, error) {
	var total int64
	err := filepath.Walk(filepath.Join(m.Dir, "objects"), func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		if os.IsNotExist(err) { // a temporary file of a fetch
			return nil
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("size of %s: %w", m.Dir, err)
	}
	return total, nil
}

// Has returns whether the mirror has all objects.
func (m Mirror) Has(ctx context.Context, objects []string) bool {
	var out bytes.Buffer
	err := pipe(ctx, m.Dir, nil, strings.NewReader(strings.Join(objects, "\n")+"\n"), &out, "cat-file", "--batch-check")
	return err == nil && !strings.Contains(out.String(), " missing")
}

// Pack packs the objects of a mirror, if the mirror has many packs.
func (m Mirror) Pack(ctx context.Context) error {
	_, err := run(ctx, m.Dir, nil, "-c", "gc.auto=2000", "-c", "gc.autoPackLimit=20", "-c", "gc.autoDetach=false", "gc", "--auto", "--quiet")
	return err
}
