package packs

import (
	"errors"

	"github.com/go-git/go-billy/v5"
)

const maxOpen = 32 // files of one repository

// openFiles keeps the files open that were used last.
type openFiles struct {
	files billy.Filesystem
	open  []openFile // the one that was used last is the first
}

type openFile struct {
	name string
	billy.File
}

// get returns a file of the directory of packs. It is valid until the next call.
func (o *openFiles) get(name string) (billy.File, error) {
	for i, f := range o.open {
		if f.name == name {
			copy(o.open[1:], o.open[:i])
			o.open[0] = f
			return f.File, nil
		}
	}
	file, err := o.files.Open(o.files.Join(dir, name))
	if err != nil {
		return nil, err
	}
	if len(o.open) == maxOpen {
		_ = o.open[maxOpen-1].Close() // it was open only for reading
		o.open = o.open[:maxOpen-1]
	}
	o.open = append([]openFile{{name, file}}, o.open...)
	return file, nil
}

func (o *openFiles) close() error {
	var err error
	for _, f := range o.open {
		err = errors.Join(err, f.Close())
	}
	o.open = nil
	return err
}
