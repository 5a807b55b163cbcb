package lazyregexp

import (
	"reflect"
	"regexp"
	"sync"
	"testing"
)

// TestLikeRegexp: each method gives what that of package regexp gives.
func TestLikeRegexp(t *testing.T) {
	const expression = `(?i)a(b*)(c)?`
	lazy, eager := reflect.ValueOf(New(expression)), reflect.ValueOf(regexp.MustCompile(expression))
	if lazy.NumMethod() == 0 {
		t.Fatal("there are no methods")
	}
	for i := range lazy.NumMethod() {
		name := lazy.Type().Method(i).Name
		method, want := lazy.Method(i), eager.MethodByName(name)
		for _, text := range []string{"", "x", "abbc xABAc"} {
			var args []reflect.Value
			for k := range method.Type().NumIn() {
				switch method.Type().In(k).Kind() {
				case reflect.Int:
					args = append(args, reflect.ValueOf(-1))
				case reflect.String:
					args = append(args, reflect.ValueOf(text))
				default:
					args = append(args, reflect.ValueOf([]byte(text)))
				}
			}
			if got, want := method.Call(args)[0].Interface(), want.Call(args)[0].Interface(); !reflect.DeepEqual(got, want) {
				t.Errorf("%s(%q) is %v, want %v", name, text, got, want)
			}
		}
	}
}

func TestCompiledAtFirstUse(t *testing.T) {
	bad := New("(")
	defer func() {
		if recover() == nil {
			t.Error("a bad expression was used without a word")
		}
	}()
	bad.MatchString("")
}

func TestUsedByMany(t *testing.T) {
	r := New("a+")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if !r.MatchString("xaay") {
				t.Error("no match")
			}
		})
	}
	all.Wait()
}
