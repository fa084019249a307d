package tree

// The limits of untrusted input. A guest needs a hundred values and a depth of seven, and a GuestSet of 1,000 guests some 20,000 values.
const (
	maxFile  = 1 << 20 // bytes of one file
	maxNodes = 50000   // keys and values of one document
	maxDepth = 24      // levels of one document
)

// Problem is a mistake in a file.
type Problem struct {
	At      Position
	Message string // "key "a" is set twice"
	Hint    string // how to correct it; may be ""
	Warns   bool   // the file is read, and what people see of it may deceive
	New     bool   // earlier releases accepted it, and the file is read as they read it
}
