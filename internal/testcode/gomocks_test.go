package testcode

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestGoMocks marks the lines that must count with M at their end.
func TestGoMocks(t *testing.T) {
	for name, src := range map[string]string{
		"gomock": `import "go.uber.org/mock/gomock"
func TestA(t *testing.T) {
	ctrl := gomock.NewController(t) //M
	store := NewMockStore(ctrl) //M
	store.EXPECT().Get(1).Return(2, nil) //M
	store.EXPECT(). //M
		Put(1). //M
		Return(nil) //M
	if got := Run(store); got != 2 {
		t.Error(got)
	}
}`,
		"testify": `import "github.com/stretchr/testify/mock"
type store struct { //M
	mock.Mock //M
} //M
func (s *store) Get(n int) int { //M
	return s.Called(n).Int(0) //M
} //M
func TestA(t *testing.T) {
	s := &store{} //M
	s.On("Get", 1).Return(2).Once() //M
	s.On("Get", mock.Anything).Return(3) //M
	router.On(event)
	Run(s)
	s.AssertExpectations(t) //M
}`,
		"renamed import": `import m "github.com/stretchr/testify/mock"
type store struct{ m.Mock } //M
func TestA(t *testing.T) { x(m.Anything) }`,
		"On without testify": `func TestA(t *testing.T) {
	bus.On("event")
	bus.On("event", func() {})
	m.On("Get").Return(1) //M
	m.On(name).Return(1)
}`,
		"generated package": `import "example.org/x/mocks"
func TestA(t *testing.T) {
	s := mocks.NewStore(t) //M
	Run(s)
}`,
		"generated package, named": `import mock_store "example.org/x/mock_store"
var s = mock_store.NewMockStore(nil) //M`,
		"patched": `import "github.com/agiledragon/gomonkey/v2"
func TestA(t *testing.T) {
	p := gomonkey.ApplyFunc(time.Now, func() time.Time { //M
		return then //M
	}) //M
	defer p.Reset()
}`,
		"sqlmock": `import "github.com/DATA-DOG/go-sqlmock"
func TestA(t *testing.T) {
	db, m, err := sqlmock.New() //M
	m.ExpectQuery("x")
	m.ExpectationsWereMet() //M
}`,
		"by hand": `type mockStore struct { //M
	n int //M
} //M
func (m mockStore) Get() int { return m.n } //M
type clockMock[T any] struct{ x T } //M
func (m *clockMock[T]) Now() T { return m.x } //M
func TestA(t *testing.T) { Run(&mockStore{1}) } //M`,
		"fakes are real": `type fakeStore struct{ m map[int]int }
func (f fakeStore) Get(n int) int { return f.m[n] }
type stubClock struct{}
func TestA(t *testing.T) { Run(fakeStore{}) }`,
		"case G15": `import (
	"example.org/mockery/real"
	_ "example.org/mocks"
)
// mock mock.Mock gomock.NewController EXPECT().Get().Return()
/* NewMockStore(ctrl)
   mock */
type Mockery struct{}
type mocking int
func mockup() {}
func TestMock(t *testing.T) {
	s := "gomock.NewController(t); m.EXPECT()"
	const mock = "mock"
	real.Mock()
	Expect(s).To(mock)
	mockup()
}`,
		"httptest is real": `import "net/http/httptest"
func TestA(t *testing.T) {
	srv := httptest.NewServer(nil)
	rec := httptest.NewRecorder()
}`,
		"table of mocks": `import "go.uber.org/mock/gomock"
var cases = []func(*MockStore){
	func(s *MockStore) { s.EXPECT().Get(gomock.Any()) }, //M
	func(s *MockStore) {},
}`,
	} {
		src = "package a\n" + src + "\n"
		var want []int
		for i, line := range strings.Split(src, "\n") {
			if strings.HasSuffix(line, "//M") {
				want = append(want, i+1)
			}
		}
		use, err := goMocks("a_test.go", []byte(src))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := slices.Sorted(maps.Keys(use.Lines)); !slices.Equal(got, want) {
			t.Errorf("%s: lines %d mock, want %d", name, got, want)
		}
	}
}
