package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/towline-io/towline/e2e/scrape"
)

// profileSeconds is the duration of a CPU profile in seconds.
const profileSeconds = 15

// profileCPU takes CPU profiles of Towline and of kube-apiserver during a phase, if Options.Profiles is set. The
// returned function waits for the end of the profiles. A phase that starts Towline calls profileTowline.
func (b *Bench) profileCPU(ctx context.Context, p phase) func() error {
	if b.Profiles == "" {
		return func() error { return nil }
	}
	b.profiles = &errgroup.Group{}
	query := fmt.Sprintf("/profile?seconds=%d", profileSeconds)
	b.profiles.Go(func() error {
		return b.download(ctx, b.hub, b.fleet.Hub.Server()+"/debug/pprof"+query, p.name+".kube-apiserver.cpu.pprof")
	})
	if b.maestro != nil && !p.restartsAll {
		b.profiles.Go(func() error {
			return b.download(ctx, b.maestro.client, b.maestro.url+"/debug/pprof"+query, p.name+".towline-maestro.cpu.pprof")
		})
	}
	b.profileTowline = func() {
		b.profiles.Go(func() error {
			return b.download(ctx, http.DefaultClient, b.towline.Profiles+query, p.name+".cpu.pprof")
		})
	}
	if b.towline != nil && !p.restarts {
		b.profileTowline()
	}
	return b.profiles.Wait
}

// profileHeap takes a heap profile of Towline at the end of a phase, after a garbage collection.
func (b *Bench) profileHeap(ctx context.Context, name string) error {
	if b.Profiles == "" || b.towline == nil {
		return nil
	}
	var works error
	if b.maestro != nil {
		works = b.download(ctx, b.maestro.client, b.maestro.url+"/debug/pprof/heap?gc=1", name+".towline-maestro.heap.pprof")
	}
	return errors.Join(works, b.download(ctx, http.DefaultClient, b.towline.Profiles+"/heap?gc=1", name+".heap.pprof"))
}

func (b *Bench) download(ctx context.Context, client *http.Client, url, name string) error {
	return download(ctx, client, url, filepath.Join(b.Profiles, name))
}

// download writes a profile to a file.
func download(ctx context.Context, client *http.Client, url, path string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*profileSeconds*time.Second)
	defer cancel()
	body, err := scrape.Open(ctx, client, url)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	defer body.Close()
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, body)
	return errors.Join(err, file.Close())
}
