package cli

// stage are programs for scripts: none here, and the scripts need a Unix shell anyway.
var stage map[string]func()
