package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	goversion "go/version"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// CacheEnv names the environment variable that overrides the folder of the built programs.
const CacheEnv = "TOWLINE_CACHE"

// A Builder compiles the fleet's programs from Go modules into a cache, once.
type Builder struct {
	// CacheDir and SourceDir are as in Options.
	CacheDir, SourceDir string
	// ArgoCD and End are as in Options.
	ArgoCD []string
	End    End
	// Transport is as in Options: Maestro is built only for a fleet with Maestro.
	Transport string
	// Releases is the address of the released programs, or "off" for a build. Default: $TOWLINE_FLEET_RELEASES, else the
	// project's releases. If the download fails, the programs are built.
	Releases string
	// Progress receives a line when a program is built. By default, no lines are printed.
	Progress io.Writer

	checksums string // the list of released archives; default: released.txt
}

// Programs are built programs and the manifests of their modules.
type Programs struct {
	folders map[string]string // by set
	paths   map[string]string // by program
}

// Path returns the path of a program. The versions of Argo CD have programs with the same names: for these names, Path
// returns one of the versions.
func (p *Programs) Path(name string) string { return p.paths[name] }

// of returns the path of a program of a set.
func (p *Programs) of(set programSet, name string) string {
	return filepath.Join(p.folders[set.name], name)
}

// Names returns the names of the programs.
func (p *Programs) Names() []string { return sortedKeys(p.paths) }

// manifests returns the files of a set's modules in a folder of the set. It is an error if the folder has no files.
func (p *Programs) manifests(set programSet, folder string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(p.folders[set.name], folder, "*.yaml"))
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s has no manifests in %s: remove that folder and build again", folder, p.folders[set.name])
	}
	return files, err
}

// Build builds the missing programs, and returns all programs.
func (b *Builder) Build(ctx context.Context) (*Programs, error) {
	end := EndOr(b.End)
	versions := b.ArgoCD
	if versions == nil {
		versions = ArgoCDOr(end.ArgoCD()...)
	}
	if err := errors.Join(end.validate(), validateArgoCD(versions), validateTransport(b.Transport)); err != nil {
		return nil, err
	}
	sets := setsFor(versions, end)
	if b.Transport == TransportMaestro {
		sets = append(sets, maestroSet)
	}
	return b.build(ctx, sets...)
}

// A buildRun counts the programs of a build, for the lines of the progress.
type buildRun struct {
	*estimate
	n, total int
}

func (b *Builder) build(ctx context.Context, sets ...programSet) (*Programs, error) {
	if err := b.complete(); err != nil {
		return nil, err
	}
	out := &Programs{folders: map[string]string{}, paths: map[string]string{}}
	left, err := b.newEstimate(sets)
	if err != nil {
		return nil, err
	}
	run := &buildRun{estimate: left}
	for _, set := range sets {
		run.total += len(set.programs)
	}
	for _, set := range sets {
		folder, err := b.buildSet(ctx, set, run)
		if err != nil {
			return nil, err
		}
		out.add(set, folder)
	}
	return out, nil
}

func (p *Programs) add(set programSet, folder string) {
	p.folders[set.name] = folder
	for _, prog := range set.programs {
		p.paths[prog.name] = filepath.Join(folder, prog.name)
	}
	for _, link := range set.links {
		p.paths[link] = filepath.Join(folder, link)
	}
}

func (b *Builder) complete() (err error) {
	if b.Progress == nil {
		b.Progress = io.Discard
	}
	if b.CacheDir == "" {
		if b.CacheDir, err = defaultCacheDir(); err != nil {
			return err
		}
	}
	b.Releases = cmp.Or(b.Releases, os.Getenv(ReleasesEnv), defaultReleases)
	b.checksums = cmp.Or(b.checksums, checksums)
	if b.SourceDir == "" {
		root, err := checkoutRoot()
		if err != nil {
			return err
		}
		b.SourceDir = filepath.Join(root, "e2e", "programs")
	}
	return nil
}

func defaultCacheDir() (string, error) {
	if dir := os.Getenv(CacheEnv); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder for built programs (set %s): %w", CacheEnv, err)
	}
	return filepath.Join(dir, "towline"), nil
}

// folderOf returns the folder of a set. The folder's name has a hash of all inputs of the programs. The files of an
// existing folder are therefore valid in every checkout.
func (b *Builder) folderOf(set programSet) (string, error) {
	key, err := setKey(filepath.Join(b.SourceDir, set.name), set, runtime.Version())
	return filepath.Join(b.CacheDir, set.name+"-"+key), err
}

// buildSet returns the folder of a set, and builds its missing programs.
func (b *Builder) buildSet(ctx context.Context, set programSet, run *buildRun) (string, error) {
	source := filepath.Join(b.SourceDir, set.name)
	folder, err := b.folderOf(set)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("creating the cache of built programs: %w", err)
	}
	if set.complete(folder) {
		run.n += len(set.programs)
		return folder, nil
	}
	unlock, err := lockFile(ctx, folder+".lock", func() {
		fmt.Fprintf(b.Progress, "waiting for another build of %s\n", set.name)
	})
	if err != nil {
		return "", err
	}
	defer unlock()
	if set.lacksProgram(folder) {
		if err := b.download(ctx, source, folder, set); err != nil {
			fmt.Fprintf(b.Progress, "building the programs of the set %s here, because %v\n", set.name, err)
		}
	}
	for _, prog := range set.programs {
		run.n++
		if err := b.compile(ctx, source, folder, set, prog, run); err != nil {
			return "", err
		}
	}
	if err := set.link(folder); err != nil {
		return "", err
	}
	return folder, b.copyManifests(ctx, source, folder, set)
}

// complete returns whether a set's folder has all files.
func (s programSet) complete(folder string) bool {
	names := append([]string{}, s.links...)
	for _, prog := range s.programs {
		names = append(names, prog.name)
	}
	for _, m := range s.manifests {
		names = append(names, m.folder)
	}
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			return false
		}
	}
	return true
}

// lacksProgram returns whether a program is missing in a set's folder.
func (s programSet) lacksProgram(folder string) bool {
	return slices.ContainsFunc(s.programs, func(p program) bool {
		_, err := os.Stat(filepath.Join(folder, p.name))
		return err != nil
	})
}

func (s programSet) link(folder string) error {
	for _, link := range s.links {
		if err := os.Symlink(s.programs[0].name, filepath.Join(folder, link)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	return nil
}

func (b *Builder) compile(ctx context.Context, source, folder string, set programSet, prog program, run *buildRun) error {
	target := filepath.Join(folder, prog.name)
	if _, err := os.Stat(target); err == nil {
		return nil
	}
	// The first time, Go downloads the modules here, for minutes with a slow network.
	fmt.Fprintf(b.Progress, "building %s (%d of %d): reading its modules\n", prog.name, run.n, run.total)
	flags, err := set.flags(ctx, source)
	if err != nil {
		return err
	}
	began := time.Now()
	left := run.left - secondsOf(prog)
	c, err := newCompilation(ctx, source, flags, prog, run.estimate)
	if err != nil {
		return err
	}
	c.progress = b.Progress
	fmt.Fprintf(b.Progress, "building %s (%d of %d): %v\n", prog.name, run.n, run.total, c)
	part := fmt.Sprintf("%s.%d.part", target, os.Getpid())
	defer os.Remove(part)
	cmd, err := newGoCommand(ctx, source, append([]string{"build", "-v", "-o", part}, append(flags, prog.pkg)...)...)
	if err != nil {
		return err
	}
	cmd.Stderr = c
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building %s in %s: %w\n%s", prog.name, source, err, &c.text)
	}
	run.left = left
	fmt.Fprintf(b.Progress, "built %s in %.0f s\n", prog.name, time.Since(began).Seconds())
	return os.Rename(part, target)
}

// flags returns the flags of the build of a set's programs.
func (s programSet) flags(ctx context.Context, source string) ([]string, error) {
	linker := []string{"-s", "-w"}
	for _, v := range s.versions {
		module, err := goCommand(ctx, source, "list", "-m", "-f", "{{.Version}}", v.module)
		if err != nil {
			return nil, fmt.Errorf("the version of module %s: %w\n%s", v.module, err, module)
		}
		linker = append(linker, "-X", v.variable+"="+v.prefix+strings.TrimPrefix(module, "v"))
	}
	// The linker leaves out the debugger's data. Without the data, the compiler takes a fifth less time.
	// Without the commit of the checkout, the same sources give the same program.
	return []string{"-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false", "-ldflags=" + strings.Join(linker, " ")}, nil
}

// goCommand runs the go tool inside a module of the programs. With an error, the text is the tool's standard error.
func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd, err := newGoCommand(ctx, dir, args...)
	if err != nil {
		return "", err
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return stderr.String(), err
	}
	return strings.TrimSpace(string(out)), nil
}

func newGoCommand(ctx context.Context, dir string, args ...string) (*exec.Cmd, error) {
	tool, err := exec.LookPath("go")
	if err != nil {
		return nil, errors.New("the go tool is not on PATH: install Go, or point " + CacheEnv + " at a cache that is complete")
	}
	cmd := exec.CommandContext(ctx, tool, args...)
	cmd.Dir = dir
	// Some distributions of Go do not load the newer Go that a module names, unless the environment says so. The checksum
	// database does not know a commit in OCM's module graph. With fewer garbage collections (GOGC=400), the compiler needs a fifth
	// less CPU: 176 s instead of 220 s for the plugin and its dependencies.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOTOOLCHAIN="+cmp.Or(os.Getenv("GOTOOLCHAIN"), "auto"),
		"GOGC="+cmp.Or(os.Getenv("GOGC"), "400"), "GONOSUMDB="+unlisted(os.Getenv("GONOSUMDB")))
	return cmd, nil
}

// setKey returns a hash of all inputs of a set's programs: versions, sums, the compiler, the set's own sources, the
// variables of the linker, and the list of the manifests.
func setKey(source string, set programSet, goVersion string) (string, error) {
	hash := sha256.New()
	files := []string{filepath.Join(source, "go.mod"), filepath.Join(source, "go.sum")}
	for _, pattern := range set.sources {
		found, err := filepath.Glob(filepath.Join(source, pattern))
		if err != nil {
			return "", err
		}
		files = append(files, found...)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("the module of the %s programs is not complete: %w", set.name, err)
		}
		fmt.Fprintf(hash, "%s %d\n", filepath.Base(file), len(data))
		hash.Write(data)
	}
	compiler, err := compilerOf(source, goVersion)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(hash, "%s %s %s %v %v", compiler, runtime.GOOS, runtime.GOARCH, set.manifests, set.versions)
	return hex.EncodeToString(hash.Sum(nil))[:12], nil
}

// compilerOf returns the version of Go that compiles the module in a folder, if a version of Go is installed: Go loads the newer
// version that a module names.
func compilerOf(source, installed string) (string, error) {
	data, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(data)) {
		if named, ok := strings.CutPrefix(strings.TrimSpace(line), "toolchain "); ok && goversion.Compare(named, installed) > 0 {
			return named, nil
		}
	}
	return installed, nil
}

// unlisted returns the modules for which the checksum database is not used: the user's list, and a module unknown to
// the database.
func unlisted(users string) string {
	const ours = "sigs.k8s.io/about-api"
	if users == "" {
		return ours
	}
	return users + "," + ours
}
