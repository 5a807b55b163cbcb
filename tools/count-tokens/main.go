// Count-tokens prints how many tokens each of the named files has, by an encoding that models use, one count a line. It is
// for the benches alone: the toolkit estimates.
//
// Usage: count-tokens ENCODING FILE...
package main

import (
	"fmt"
	"os"

	"github.com/tiktoken-go/tokenizer"
)

func main() {
	if err := count(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "count-tokens: %v\n", err)
		os.Exit(3)
	}
}

func count(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: count-tokens ENCODING FILE...")
	}
	codec, err := tokenizer.Get(tokenizer.Encoding(args[0]))
	if err != nil {
		return fmt.Errorf("%q: %w", args[0], err)
	}
	for _, name := range args[1:] {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		n, err := codec.Count(string(data))
		if err != nil {
			return fmt.Errorf("%q: %w", name, err)
		}
		fmt.Println(n)
	}
	return nil
}
