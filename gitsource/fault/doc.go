// Package fault names why a fetch failed, in words of a closed list that reports, metrics and the status page use. gitsource.FaultOf finds the fault of an error.
package fault
