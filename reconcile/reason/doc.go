// Package reason names why something is as it is: why a guest or an object has a condition, why a step is held, and why the agent does not write. Of this
// module it imports package event only.
package reason
