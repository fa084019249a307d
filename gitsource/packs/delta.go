package packs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// deltaSizes reads the head of a delta: the size of its base, which must be base, and that of its result, which it returns.
func deltaSizes(delta *bufio.Reader, base int64) (int64, error) {
	from, err := binary.ReadUvarint(delta)
	if err != nil {
		return 0, fmt.Errorf("read delta: %w", unexpectedEOF(err))
	}
	if from != uint64(base) { //nolint:gosec // a length is not negative
		return 0, fmt.Errorf("the delta is for a base of %d bytes, and its base has %d", from, base)
	}
	to, err := binary.ReadUvarint(delta)
	if err != nil {
		return 0, fmt.Errorf("read delta: %w", unexpectedEOF(err))
	}
	if to > math.MaxInt64 {
		return 0, ErrTooLarge
	}
	return int64(to), nil
}

// patch fills result with what the instructions of a delta make of base.
func patch(result, base []byte, delta *bufio.Reader) error {
	for len(result) > 0 {
		op, err := delta.ReadByte()
		if err != nil {
			return fmt.Errorf("read delta: %w", unexpectedEOF(err))
		}
		var n int
		if op&0x80 != 0 {
			n, err = copyBase(result, base, op, delta)
		} else {
			n, err = insert(result, int(op), delta)
		}
		if err != nil {
			return err
		}
		result = result[n:]
	}
	return nil
}

// copyBase copies a part of the base.
func copyBase(result, base []byte, op byte, delta *bufio.Reader) (int, error) {
	offset, size, err := copyRange(op, delta)
	if err != nil {
		return 0, err
	}
	if size > int64(len(result)) || offset > int64(len(base)) || size > int64(len(base))-offset {
		return 0, fmt.Errorf("the delta copies %d bytes at %d of a base of %d bytes, and %d are missing", size, offset, len(base), len(result))
	}
	return copy(result, base[offset:offset+size]), nil
}

// copyRange reads which part of the base an instruction copies. The bits of op say which bytes of offset and size follow.
func copyRange(op byte, delta *bufio.Reader) (offset, size int64, err error) {
	for i := range 7 {
		if op>>i&1 == 0 {
			continue
		}
		b, err := delta.ReadByte()
		if err != nil {
			return 0, 0, fmt.Errorf("read delta: %w", unexpectedEOF(err))
		}
		if i < 4 {
			offset |= int64(b) << (8 * i)
		} else {
			size |= int64(b) << (8 * (i - 4))
		}
	}
	if size == 0 {
		size = 0x10000
	}
	return offset, size, nil
}

// insert takes size bytes from the delta.
func insert(result []byte, size int, delta *bufio.Reader) (int, error) {
	if size == 0 {
		return 0, errors.New("the delta has an instruction that git reserves")
	}
	if size > len(result) {
		return 0, fmt.Errorf("the delta inserts %d bytes, and %d are missing", size, len(result))
	}
	return size, fill(delta, result[:size])
}
