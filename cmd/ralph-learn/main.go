package main

import (
	_ "embed"
	"os"

	"ralph-loop/internal/cli"
)

//go:embed doc.go
var doc string

func main() { os.Exit(cli.Learn(cli.ThisProcess(), doc, os.Args[1:])) }
