// Command image makes a container image of static programs, one for each architecture, without a daemon:
// a directory in OCI's layout. The image has nothing in it but the program, /schedlab, as deploy/Dockerfile makes it.
//
//	image -name IMAGE -source URL -version v0.1.0 -revision COMMIT -created SECONDS -out DIR amd64=PROGRAM arm64=PROGRAM
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "image: %v\n", err)
		os.Exit(1)
	}
}

// build is what the labels and the layer of an image say of the build.
type build struct {
	source, version, revision string
	created                   time.Time
}

func run(args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	var b build
	name := flags.String("name", "", "the image's name, without a tag")
	flags.StringVar(&b.source, "source", "", "where the source is")
	flags.StringVar(&b.version, "version", "", "version, which is also the tag")
	flags.StringVar(&b.revision, "revision", "", "commit")
	seconds := flags.Int64("created", 0, "time of the commit, in seconds since 1970")
	out := flags.String("out", "", "directory to write into")
	if err := flags.Parse(args); err != nil {
		return err
	}
	b.created = time.Unix(*seconds, 0).UTC()
	images := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arg := range flags.Args() {
		arch, program, ok := strings.Cut(arg, "=")
		if !ok {
			return fmt.Errorf("%q is not ARCHITECTURE=PROGRAM", arg)
		}
		img, err := b.image(arch, program)
		if err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
		images = mutate.AppendManifests(images, mutate.IndexAddendum{
			Add:        img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	// One image of several architectures, by a name that 'docker load' and skopeo understand.
	dir, err := layout.Write(*out, empty.Index)
	if err != nil {
		return err
	}
	return dir.AppendIndex(images, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": b.version,
		"io.containerd.image.name":          *name + ":" + b.version,
	}))
}

// image returns the image of a program for one architecture.
func (b build) image(arch, program string) (v1.Image, error) {
	layer, err := b.layer(program)
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err = mutate.Append(img, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{
		Created: v1.Time{Time: b.created}, CreatedBy: "tools/release/snapshot",
	}})
	if err != nil {
		return nil, err
	}
	c, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	c = c.DeepCopy()
	c.OS, c.Architecture, c.Created = "linux", arch, v1.Time{Time: b.created}
	c.Config = v1.Config{
		User:         "65532:65532",
		Entrypoint:   []string{"/schedlab"},
		Cmd:          []string{"serve", "--mode", "nethttp", "--addr", ":8080", "--admin", ":9090"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}, "9090/tcp": {}},
		Labels: map[string]string{
			"org.opencontainers.image.title":       "schedlab",
			"org.opencontainers.image.description": "Which goroutine scheduling model should serve this workload",
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.source":      b.source,
			"org.opencontainers.image.version":     b.version,
			"org.opencontainers.image.revision":    b.revision,
		},
	}
	return mutate.ConfigFile(img, c)
}

// layer returns the layer with the program as /schedlab.
func (b build) layer(program string) (v1.Layer, error) {
	text, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var files bytes.Buffer
	w := tar.NewWriter(&files)
	head := tar.Header{Name: "schedlab", Mode: 0o755, Size: int64(len(text)), ModTime: b.created, Format: tar.FormatPAX}
	if err := w.WriteHeader(&head); err != nil {
		return nil, err
	}
	_, err = w.Write(text)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
}
