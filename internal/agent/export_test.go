package agent

// StateNames are the entries of the state directory whose owner is checked.
var StateNames = stateNames
