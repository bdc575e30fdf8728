package main

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// made makes an image of two programs, and returns its one entry of the layout's index.
func made(t *testing.T, version string) (layout.Path, v1.Descriptor) {
	t.Helper()
	dir := t.TempDir()
	args := []string{"-name", "registry.example/team/schedlab", "-source", "https://example.net/team/schedlab", "-version", version,
		"-revision", "c0ffee", "-created", "1760000000", "-out", filepath.Join(dir, "image")}
	for _, arch := range []string{"amd64", "arm64"} {
		program := filepath.Join(dir, arch)
		if err := os.WriteFile(program, []byte("program for "+arch), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, arch+"="+program)
	}
	if err := run(args); err != nil {
		t.Fatal(err)
	}
	at, err := layout.FromPath(filepath.Join(dir, "image"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := at.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	m, err := index.IndexManifest()
	if err != nil || len(m.Manifests) != 1 {
		t.Fatalf("the layout has %d images: %v", len(m.Manifests), err)
	}
	return at, m.Manifests[0]
}

// The layout is whole and has one image with a name. Each of its programs is /schedlab for its own architecture,
// started as deploy/Dockerfile starts it, by a user without rights.
func TestImageServesOnEachArchitecture(t *testing.T) {
	at, entry := made(t, "v0.1.0")
	if got := entry.Annotations["io.containerd.image.name"]; got != "registry.example/team/schedlab:v0.1.0" {
		t.Errorf("the image is called %q", got)
	}
	layouts, err := at.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	images, err := layouts.ImageIndex(entry.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(images); err != nil {
		t.Fatal(err)
	}
	m, err := images.IndexManifest()
	if err != nil || len(m.Manifests) != 2 {
		t.Fatalf("%d architectures: %v", len(m.Manifests), err)
	}
	for i, arch := range []string{"amd64", "arm64"} {
		if got := m.Manifests[i].Platform; got.OS != "linux" || got.Architecture != arch {
			t.Errorf("the image is for %s, want linux/%s", got, arch)
		}
		img, err := images.Image(m.Manifests[i].Digest)
		if err != nil {
			t.Fatal(err)
		}
		c, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"/schedlab", "serve", "--mode", "nethttp", "--addr", ":8080", "--admin", ":9090"}; !slices.Equal(slices.Concat(c.Config.Entrypoint, c.Config.Cmd), want) ||
			c.Config.User != "65532:65532" || c.Architecture != arch || c.Config.Labels["org.opencontainers.image.revision"] != "c0ffee" {
			t.Errorf("%s: got %+v", arch, c)
		}
		files := tar.NewReader(mutate.Extract(img))
		head, err := files.Next()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(files)
		if err != nil || head.Name != "schedlab" || head.Mode != 0o755 || string(text) != "program for "+arch {
			t.Errorf("%s: file %s, mode %o: %q %v", arch, head.Name, head.Mode, text, err)
		}
		if _, err := files.Next(); err != io.EOF {
			t.Errorf("%s: the image has a second file: %v", arch, err)
		}
	}
}

// The same programs make the same image, and another version another one.
func TestImageIsReproducible(t *testing.T) {
	_, one := made(t, "v0.1.0")
	_, two := made(t, "v0.1.0")
	_, other := made(t, "v0.2.0")
	if one.Digest != two.Digest || one.Digest == other.Digest {
		t.Errorf("got %v, %v and %v", one.Digest, two.Digest, other.Digest)
	}
}
