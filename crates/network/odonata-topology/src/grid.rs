//! A grid of routers: the coordinates of a router are the mixed-radix digits of its number, the first dimension fastest.

use crate::sizes;

/// Maximum number of dimensions: with two routers each, already 2^16 routers.
const MOST_DIMENSIONS: usize = 16;

/// Routers in a grid of 1 to 16 dimensions: number x + k_x (y + k_y (z + …)) is at (x, y, z, …).
#[derive(Clone, Debug)]
pub struct Grid {
    extents: Vec<u32>,
    /// Per dimension, the difference in router number for one step.
    strides: Vec<u32>,
    /// Per router, one coordinate per dimension.
    coordinates: Vec<u32>,
}

impl Grid {
    /// Number of routers of a grid of these extents; at least 2^32 on overflow.
    ///
    /// # Errors
    /// The impossible number and its bound.
    pub(crate) fn size(extents: &[u32]) -> Result<u64, String> {
        let dimensions = extents.len();
        if dimensions == 0 || dimensions > MOST_DIMENSIONS {
            return Err(format!("{dimensions} dimensions: 1 to {MOST_DIMENSIONS} are possible"));
        }
        Ok(sizes::product(extents.iter().copied()))
    }

    /// A grid whose [size](Self::size) is possible.
    pub(crate) fn new(extents: &[u32]) -> Self {
        let routers: u32 = extents.iter().product();
        let mut strides = vec![1; extents.len()];
        for dimension in 1..extents.len() {
            strides[dimension] = strides[dimension - 1] * extents[dimension - 1];
        }
        let mut coordinates = Vec::with_capacity(routers as usize * extents.len());
        for router in 0..routers {
            let digits = extents.iter().zip(&strides);
            coordinates.extend(digits.map(|(extent, stride)| router / stride % extent));
        }
        Grid {
            extents: extents.to_vec(),
            strides,
            coordinates,
        }
    }

    /// Number of dimensions.
    #[inline]
    pub fn dimensions(&self) -> u32 {
        self.extents.len() as u32
    }

    /// Number of routers.
    #[inline]
    pub fn routers(&self) -> u32 {
        (self.coordinates.len() / self.extents.len()) as u32
    }

    /// Routers in `dimension`.
    #[inline]
    pub fn extent(&self, dimension: u32) -> u32 {
        self.extents[dimension as usize]
    }

    /// The coordinate of `router` in `dimension`.
    #[inline]
    pub fn coordinate(&self, router: u32, dimension: u32) -> u32 {
        self.coordinates[router as usize * self.extents.len() + dimension as usize]
    }

    /// The coordinates of `router`.
    #[inline]
    pub fn coordinates(&self, router: u32) -> &[u32] {
        let at = router as usize * self.extents.len();
        &self.coordinates[at..at + self.extents.len()]
    }

    /// The router with the coordinates of `router`, except `to` in `dimension`.
    #[inline]
    pub fn moved(&self, router: u32, dimension: u32, to: u32) -> u32 {
        let stride = self.strides[dimension as usize];
        router - self.coordinate(router, dimension) * stride + to * stride
    }

    /// The bounds of the planes of the slowest dimension that has several routers.
    pub(crate) fn planes(&self) -> Vec<u32> {
        let planes = self
            .extents
            .iter()
            .rev()
            .find(|&&extent| extent > 1)
            .copied()
            .unwrap_or(1);
        let routers = self.routers();
        (0..=planes).map(|plane| plane * (routers / planes)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// id = x + 3 (y + 4 z).
    #[test]
    fn coordinates_are_the_digits_of_the_number_and_back() {
        let extents = [3, 4, 2];
        let grid = Grid::new(&extents);
        assert_eq!((grid.routers(), grid.dimensions()), (24, 3));
        for router in 0..24 {
            let [x, y, z] = *grid.coordinates(router) else { panic!() };
            assert_eq!(x + 3 * (y + 4 * z), router);
            for dimension in 0..3 {
                for to in 0..grid.extent(dimension) {
                    let other = grid.moved(router, dimension, to);
                    let mut expected = [x, y, z];
                    expected[dimension as usize] = to;
                    assert_eq!(grid.coordinates(other), expected);
                    assert_eq!(grid.coordinate(other, dimension), to);
                }
            }
        }
    }

    #[test]
    fn planes_are_those_of_the_slowest_dimension_that_has_several_routers() {
        assert_eq!(Grid::new(&[3, 4, 2]).planes(), [0, 12, 24]);
        assert_eq!(Grid::new(&[3, 4, 1]).planes(), [0, 3, 6, 9, 12]);
        assert_eq!(Grid::new(&[1, 1]).planes(), [0, 1]);
    }

    #[test]
    fn impossible_sizes_are_refused_or_larger_than_every_bound() {
        assert!(Grid::size(&[]).unwrap_err().contains("1 to 16"));
        assert!(Grid::size(&[2; 17]).unwrap_err().contains("1 to 16"));
        assert_eq!(Grid::size(&[u32::MAX; 16]), Ok(u64::MAX));
    }
}
