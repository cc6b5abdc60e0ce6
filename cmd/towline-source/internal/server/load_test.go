package server

import (
	"bytes"
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"
	"k8s.io/client-go/rest"

	"github.com/towline-io/towline/cmd/towline-source/internal/git"
	"github.com/towline-io/towline/pkg/source"
)

var (
	played    = flag.Int("clusters", 30, "clusters in TestLoad")
	megabytes = flag.Int("megabytes", 8, "size of the repository in TestLoad")
)

// TestLoad: played clusters read a repository through the API, and then a commit, all at the same time. Each cluster gets
// each commit, nothing is refused, and the number of git processes stays within the limit. The memory of the server, with the
// played clusters and the Git server, grows by less than the answers at the same time: no answer is held whole. The test logs
// bytes, times, CPU and memory:
//
//	go test ./internal/server -run TestLoad -v -clusters=2000 -megabytes=10
func TestLoad(t *testing.T) {
	w := serve(t)
	w.hub.all = true
	w.limits.all, w.limits.byCluster = semaphore.NewWeighted(64), 8
	w.mirrors.Keep, w.mirrors.MaxBytes, w.mirrors.MaxTotal = time.Second, 1<<30, 1<<30
	var first string
	for i := range *megabytes {
		content := make([]byte, 1<<20)
		_, _ = rand.Read(content)
		first = w.git.Commit(fmt.Sprint("file", i), string(content))
	}
	l := &load{world: w}
	l.measure("read a repository of %d MB, 64 clusters at the same time", []any{*megabytes}, 64, first)
	second := w.git.Commit("config.yaml", "replicas: 2")
	w.mirrors.Stale(w.git.URL) // the webhook of the hub
	l.measure("read a commit at the same time", nil, *played, second, first)
	if most := l.processes.Load(); most > 64+8 {
		t.Errorf("%d processes of git at the same time", most)
	}
}

// load plays clusters.
type load struct {
	*world
	bytes, processes, memory atomic.Int64
}

// measure lets each cluster fetch a commit, and logs the costs.
func (l *load) measure(title string, args []any, parallel int, commit string, have ...string) {
	l.Helper()
	client, err := rest.HTTPClientFor(l.config)
	if err != nil {
		l.Fatal(err)
	}
	before := l.resetPeak()
	stop := l.sample()
	git0, self0 := used(syscall.RUSAGE_CHILDREN), used(syscall.RUSAGE_SELF)
	looks, packs, sent := l.git.Refs.Load(), l.git.Packs.Load(), l.bytes.Load()
	began := time.Now()
	var mu sync.Mutex
	var slowest time.Duration
	group, ctx := errgroup.WithContext(l.Context())
	group.SetLimit(parallel)
	for i := range *played {
		group.Go(func() error {
			began := time.Now()
			err := l.fetch(ctx, client, fmt.Sprint("cluster", i), commit, have...)
			mu.Lock()
			defer mu.Unlock()
			slowest = max(slowest, time.Since(began))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		l.Fatal(err)
	}
	stop()
	grown := l.status("VmHWM") - before
	if most := int64(min(parallel, *played)**megabytes) << 20; grown >= most {
		l.Errorf("the memory grows by %d MB: the answers at the same time have %d MB", grown>>20, most>>20)
	}
	l.Logf("%d clusters "+title+": %.1f s to the last, %.1f s for the slowest, %.1f kB for each, %.1f s CPU of git, %.1f s CPU of the server and the "+
		"played clusters, at most %d processes of git with %d MB, %d requests to the Git server, "+
		"%d MB more memory of the server and the played clusters than %d MB before",
		append(append([]any{*played}, args...), time.Since(began).Seconds(), slowest.Seconds(), float64(l.bytes.Load()-sent)/float64(*played)/1024,
			(used(syscall.RUSAGE_CHILDREN)-git0).Seconds(), (used(syscall.RUSAGE_SELF)-self0).Seconds(), l.processes.Load(), l.memory.Load()>>20,
			l.git.Refs.Load()-looks+l.git.Packs.Load()-packs, grown>>20, before>>20)...)
}

// fetch reads a commit as git does: the capabilities, the references, and the pack.
func (l *load) fetch(ctx context.Context, client *http.Client, of, commit string, have ...string) error {
	at := l.config.Host + source.Path(of, l.hub.grant.Name) + "/"
	if _, err := l.ask(ctx, client, http.MethodGet, at+git.RefsPath+"?service=git-upload-pack", ""); err != nil {
		return err
	}
	refs, err := l.ask(ctx, client, http.MethodPost, at+git.PackPath, packets("command=ls-refs\n", "", "peel\n", "symrefs\n")+"0000")
	if err != nil {
		return err
	}
	if !strings.Contains(refs, commit) {
		return fmt.Errorf("%s does not see the commit %s: %s", of, commit, refs)
	}
	lines := []string{"command=fetch", "", "ofs-delta", "no-progress", "want " + commit + "\n"}
	for _, commit := range have {
		lines = append(lines, "have "+commit+"\n")
	}
	pack, err := l.ask(ctx, client, http.MethodPost, at+git.PackPath, packets(append(lines, "done\n")...)+"0000")
	if err == nil && (!strings.Contains(pack, "packfile\n") || !strings.Contains(pack, "PACK")) {
		err = fmt.Errorf("%s gets no pack: %q", of, pack)
	}
	return err
}

// ask sends a request, and returns the beginning and the end of the answer.
func (l *load) ask(ctx context.Context, client *http.Client, method, url, body string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Git-Protocol", "version=2")
	answer, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	head, err := io.ReadAll(io.LimitReader(answer.Body, 4<<10))
	if err != nil {
		return "", err
	}
	tail := &tail{}
	rest, err := io.Copy(tail, answer.Body)
	l.bytes.Add(int64(len(head)) + rest)
	if text := string(head) + string(tail.last); err == nil && (answer.StatusCode != http.StatusOK || !strings.HasSuffix(text, "0000")) {
		err = fmt.Errorf("%s: %d %q", url, answer.StatusCode, text)
	}
	return string(head), err
}

// tail keeps the last bytes.
type tail struct{ last []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last, p...)
	t.last = bytes.Clone(t.last[max(0, len(t.last)-4):])
	return len(p), nil
}

// packets returns lines as packets of Git's protocol. An empty line is the delimiter.
func packets(lines ...string) string {
	out := ""
	for _, line := range lines {
		if line == "" {
			out += "0001"
			continue
		}
		out += fmt.Sprintf("%04x%s", len(line)+4, line)
	}
	return out
}

// used returns the CPU time of this process, or of its ended children.
func used(who int) time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(who, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// sample notes the maximum number and memory of the processes of git, until the returned function is called.
func (l *load) sample() (stop func()) {
	l.processes.Store(0)
	l.memory.Store(0)
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-tick.C:
				processes, memory := children()
				l.processes.Store(max(l.processes.Load(), processes))
				l.memory.Store(max(l.memory.Load(), memory))
			}
		}
	}()
	return func() { close(over); <-done }
}

// children returns the number of the children of this process, and their memory in bytes with the memory of their own
// children. A page of several processes counts once.
func children() (processes, memory int64) {
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for pid := range strings.FieldsSeq(string(text)) {
			processes++
			memory += memoryOf(pid)
		}
	}
	return processes, memory
}

// resetPeak makes VmHWM count from now on, and returns the memory of this process in bytes.
func (l *load) resetPeak() int64 {
	l.Helper()
	runtime.GC()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200); err != nil {
		l.Fatal(err)
	}
	return l.status("VmRSS")
}

// status returns a number of the memory of this process in bytes.
func (l *load) status(name string) (bytes int64) {
	l.Helper()
	text, err := os.ReadFile("/proc/self/status")
	_, line, ok := strings.Cut(string(text), "\n"+name+":")
	if _, scanned := fmt.Sscan(line, &bytes); err != nil || !ok || scanned != nil {
		l.Fatalf("no %s: %v, %v", name, err, scanned)
	}
	return bytes << 10
}

func memoryOf(pid string) (bytes int64) {
	text, _ := os.ReadFile("/proc/" + pid + "/smaps_rollup")
	if _, line, ok := strings.Cut(string(text), "\nPss:"); ok {
		_, _ = fmt.Sscan(line, &bytes)
	}
	own, _ := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
	bytes <<= 10
	for child := range strings.FieldsSeq(string(own)) {
		bytes += memoryOf(child)
	}
	return bytes
}
