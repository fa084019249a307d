// Package bounds limits what a decoder of foreign text may cost before the decoder runs: bytes, values, the elements of one list or object, and depth. A decoder
// such as encoding/json allocates a Go value for each element, which can be a hundred times as large as its text.
//
// The time of a decoder is bounded with its bytes: the decoders that are used after these checks take linear time.
package bounds
