// Command image writes the image of the agent for several architectures as one OCI archive, without a daemon. The last stage of a Dockerfile describes the
// image. Two runs on the same files write the same bytes.
//
//   - stage.go reads that stage.
//   - contents.go makes the layers.
//   - archive.go puts the images into an archive.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	opts, err := parse(os.Args[1:])
	if err == nil {
		err = run(opts)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

type options struct {
	context, out    string
	version, commit string
	created         time.Time
	programs        []program
}

// program is a file for one architecture.
type program struct{ architecture, file string }

func parse(args []string) (options, error) {
	var opts options
	var created int64
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&opts.context, "context", ".", "folder with the Dockerfile")
	flags.StringVar(&opts.out, "out", "", "archive to write")
	flags.StringVar(&opts.version, "version", "", "version of the release")
	flags.StringVar(&opts.commit, "commit", "", "commit of the release")
	flags.Int64Var(&created, "created", 0, "time of all files, in seconds since 1970")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	opts.created = time.Unix(created, 0).UTC()
	for _, arg := range flags.Args() {
		architecture, file, ok := strings.Cut(arg, "=")
		if !ok {
			return options{}, fmt.Errorf("got argument %q, want ARCHITECTURE=PROGRAM", arg)
		}
		opts.programs = append(opts.programs, program{architecture, file})
	}
	if opts.out == "" || len(opts.programs) == 0 {
		return options{}, fmt.Errorf("want -out and at least one ARCHITECTURE=PROGRAM")
	}
	return opts, nil
}

func run(opts options) error {
	described, err := readStage(opts.context, map[string]string{
		"VERSION": opts.version, "COMMIT": opts.commit, "CREATED": opts.created.Format(time.RFC3339),
	})
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range opts.programs {
		image, err := newImage(described, p, opts.created)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: p.architecture}}})
	}
	return writeArchive(opts.out, index, opts.version, opts.created)
}

func newImage(described stage, p program, created time.Time) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, c := range described.copies {
		layer, err := newLayer(c, described.context, p.file, created)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c, err)
		}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: created}, CreatedBy: c.String()}}); err != nil {
			return nil, err
		}
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.Created, file.OS, file.Architecture, file.Config = v1.Time{Time: created}, "linux", p.architecture, described.config
	return mutate.ConfigFile(image, file)
}
