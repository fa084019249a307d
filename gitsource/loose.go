package gitsource

import (
	"bufio"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5/plumbing"
)

// maxLooseHeader is the longest header of a loose object, "<type> <size>" and a zero byte, in bytes.
const maxLooseHeader = 32

func looseFile(files billy.Filesystem, h plumbing.Hash) string {
	id := h.String()
	return files.Join("objects", id[:2], id[2:])
}

// readLoose returns the content of a loose object of a type. It returns ErrNotFound if there is none, also for an object of another type. go-git unpacks a
// loose object to its end, whatever size it declares, so a few kilobytes could fill the memory. readLoose stops at the declared size.
func readLoose(files billy.Filesystem, typ plumbing.ObjectType, h plumbing.Hash, limit int64) ([]byte, error) {
	file, err := files.Open(looseFile(files, h))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unpacked, err := zlib.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("loose object: %w", err)
	}
	defer unpacked.Close()
	raw, err := readLooseBody(bufio.NewReader(unpacked), typ, limit)
	if err != nil {
		return nil, err
	}
	return raw, checkHash(typ, raw, h)
}

// readLooseBody reads an unpacked loose object up to the size that it declares.
func readLooseBody(content *bufio.Reader, typ plumbing.ObjectType, limit int64) ([]byte, error) {
	found, size, err := looseHeader(content)
	switch {
	case err != nil:
		return nil, fmt.Errorf("loose object: %w", err)
	case found != typ.String():
		return nil, ErrNotFound
	case size > limit:
		return nil, fmt.Errorf("%d bytes: %w of %d bytes", size, ErrTooLarge, limit)
	}
	raw := make([]byte, size)
	if _, err := io.ReadFull(content, raw); errors.Is(unexpectedEOF(err), io.ErrUnexpectedEOF) {
		return nil, otherSize(size)
	} else if err != nil {
		return nil, fmt.Errorf("loose object: %w", err)
	}
	if _, err := content.ReadByte(); err == nil {
		return nil, otherSize(size)
	} else if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("loose object: %w", err)
	}
	return raw, nil
}

func otherSize(size int64) error {
	return fmt.Errorf("loose object has another size than the %d bytes in its header", size)
}

// looseHeader reads the type and the size of a loose object.
func looseHeader(content *bufio.Reader) (typ string, size int64, err error) {
	var header []byte
	for len(header) < maxLooseHeader {
		b, err := content.ReadByte()
		if err != nil {
			return "", 0, unexpectedEOF(err)
		}
		switch {
		case b == ' ' && typ == "":
			typ, header = string(header), nil
		case b == 0:
			size, err := strconv.ParseInt(string(header), 10, 64)
			if err != nil || size < 0 {
				return "", 0, fmt.Errorf("header has the size %q", header)
			}
			return typ, size, nil
		default:
			header = append(header, b)
		}
	}
	return "", 0, errors.New("header is too long")
}

// unexpectedEOF returns io.ErrUnexpectedEOF for an end in the middle of something, and every other error unchanged.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
