//! Ranks on a grid: coordinates, neighbors, balanced extents.

/// A step to a neighbor, per dimension; unused dimensions are 0.
pub(crate) type Offset = [i8; Grid::MOST];

/// The neighbors across the faces, in the order dimension 0 minus, plus, dimension 1 minus, ...
pub(crate) const FACES: [Offset; 2 * Grid::MOST] = [
    [-1, 0, 0, 0],
    [1, 0, 0, 0],
    [0, -1, 0, 0],
    [0, 1, 0, 0],
    [0, 0, -1, 0],
    [0, 0, 1, 0],
    [0, 0, 0, -1],
    [0, 0, 0, 1],
];

/// A grid of one to four dimensions; the coordinate of the first changes fastest with the rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    extents: [u32; Grid::MOST],
    dimensions: usize,
    wrap: bool,
}

impl Grid {
    /// The most dimensions of a grid.
    pub(crate) const MOST: usize = 4;

    /// A grid of `ranks` ranks with the given extents; a torus if `wrap` is set, otherwise a mesh.
    ///
    /// # Errors
    /// The number of dimensions is not 1 to 4, or the product of the extents is not `ranks`.
    pub(crate) fn new(ranks: u32, dims: &[u32], wrap: bool) -> Result<Grid, String> {
        if dims.is_empty() || dims.len() > Grid::MOST {
            return Err(format!("dims has {} entries: expected 1 to {}", dims.len(), Grid::MOST));
        }
        let product = dims
            .iter()
            .try_fold(1u32, |product, &extent| product.checked_mul(extent));
        if ranks == 0 || product != Some(ranks) {
            let dims: Vec<String> = dims.iter().map(u32::to_string).collect();
            let product = product.map_or("more than 2^32 ranks".into(), |p| format!("{p} ranks"));
            return Err(format!(
                "dims {} make {product}, but the job has {ranks}",
                dims.join(" x ")
            ));
        }
        let mut extents = [1; Grid::MOST];
        extents[..dims.len()].copy_from_slice(dims);
        Ok(Grid {
            extents,
            dimensions: dims.len(),
            wrap,
        })
    }

    /// The grid with the given extents, or [`balanced`] ones by default.
    ///
    /// # Errors
    /// Those of [`Grid::new`].
    pub(crate) fn with_dims_or_balanced<const N: usize>(
        ranks: u32,
        dims: Option<[u32; N]>,
        wrap: bool,
    ) -> Result<Grid, String> {
        match dims {
            Some(dims) => Grid::new(ranks, &dims, wrap),
            None => Grid::new(ranks, &balanced(ranks, N)?, wrap),
        }
    }

    /// Number of ranks.
    pub(crate) fn ranks(&self) -> u32 {
        self.extents.iter().product()
    }

    /// Ranks along each dimension, the first fastest.
    pub(crate) fn extents(&self) -> &[u32] {
        &self.extents[..self.dimensions]
    }

    /// Whether it is a torus.
    pub(crate) fn wraps(&self) -> bool {
        self.wrap
    }

    /// The steps to the neighbors across the faces.
    pub(crate) fn faces(&self) -> &'static [Offset] {
        &FACES[..2 * self.dimensions]
    }

    /// The rank one step away from `rank < ranks`; `None` at the border of a mesh, and in a torus so small that the
    /// step leads back to the same rank.
    pub(crate) fn neighbour(&self, rank: u32, offset: &Offset) -> Option<u32> {
        let mut rest = rank;
        let mut neighbour = 0;
        let mut stride = 1u32;
        // By index: zipping two arrays costs a function call.
        for (dimension, &step) in offset[..self.dimensions].iter().enumerate() {
            let extent = self.extents[dimension];
            let here = rest % extent;
            rest /= extent;
            let there = match step {
                0 => here,
                1.. if here + 1 < extent => here + 1,
                ..0 if here > 0 => here - 1,
                _ if !self.wrap => return None,
                1.. => 0,
                ..0 => extent - 1,
            };
            neighbour += there * stride;
            // The stride after the last dimension is never used; it may be 2^32.
            stride = stride.wrapping_mul(extent);
        }
        (neighbour != rank).then_some(neighbour)
    }
}

impl std::fmt::Display for Grid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, extent) in self.extents[..self.dimensions].iter().enumerate() {
            let times = if i == 0 { "" } else { " x " };
            write!(f, "{times}{extent}")?;
        }
        write!(f, " {}", if self.wrap { "torus" } else { "mesh" })
    }
}

/// The ascending extents of `dimensions` dimensions with product `ranks` and the smallest sum: the nearest to a cube,
/// as in `MPI_Dims_create`.
///
/// # Errors
/// There are no ranks, or not 1 to 4 dimensions.
pub(crate) fn balanced(ranks: u32, dimensions: usize) -> Result<Vec<u32>, String> {
    if ranks == 0 {
        return Err("the job has no ranks".into());
    }
    if dimensions == 0 || dimensions > Grid::MOST {
        return Err(format!("{dimensions} dimensions: expected 1 to {}", Grid::MOST));
    }
    let mut best = None;
    search(ranks, dimensions, 1, &mut Vec::new(), &mut best);
    best.map(|(_, extents)| extents)
        .ok_or_else(|| format!("{ranks} ranks have no {dimensions}-D layout"))
}

/// Extends `chosen` by `left` extents of at least `least` with product `rest`.
fn search(rest: u32, left: usize, least: u32, chosen: &mut Vec<u32>, best: &mut Option<(u64, Vec<u32>)>) {
    if left == 1 {
        if rest < least {
            return;
        }
        chosen.push(rest);
        let sum = chosen.iter().map(|&extent| u64::from(extent)).sum();
        if best.as_ref().is_none_or(|(smallest, _)| sum < *smallest) {
            *best = Some((sum, chosen.clone()));
        }
        chosen.pop();
        return;
    }
    let most = (least..=rest.isqrt()).take_while(|e| e.checked_pow(left as u32).is_some_and(|power| power <= rest));
    let try_extent = |extent: u32, chosen: &mut Vec<u32>, best: &mut _| {
        chosen.push(extent);
        search(rest / extent, left - 1, extent, chosen, best);
        chosen.pop();
    };
    if left == 2 {
        // Of two extents with a given product, the closest have the smallest sum.
        if let Some(extent) = (least..=rest.isqrt()).rev().find(|extent| rest.is_multiple_of(*extent)) {
            try_extent(extent, chosen, best);
        }
        return;
    }
    for extent in most.filter(|extent| rest.is_multiple_of(*extent)) {
        try_extent(extent, chosen, best);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_are_as_close_to_a_cube_as_the_divisors_allow() {
        assert_eq!(balanced(300, 3), Ok(vec![5, 6, 10]));
        assert_eq!(balanced(300, 4), Ok(vec![3, 4, 5, 5]));
        assert_eq!(balanced(110_592, 3), Ok(vec![48, 48, 48]));
        assert_eq!(balanced(64, 2), Ok(vec![8, 8]));
        assert_eq!(balanced(7, 3), Ok(vec![1, 1, 7]));
        assert_eq!(balanced(1, 4), Ok(vec![1, 1, 1, 1]));
        assert_eq!(balanced(u32::MAX, 2), Ok(vec![65_535, 65_537]));
        assert!(balanced(0, 3).is_err() && balanced(8, 5).is_err() && balanced(8, 0).is_err());
    }

    #[test]
    fn a_mesh_ends_and_a_torus_does_not() {
        let mesh = Grid::new(6, &[3, 2], false).unwrap();
        let torus = Grid::new(6, &[3, 2], true).unwrap();
        // Rank 2 is (2, 0).
        let of = |grid: &Grid| {
            grid.faces()
                .iter()
                .map(|step| grid.neighbour(2, step))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(&mesh), [Some(1), None, None, Some(5)]);
        assert_eq!(of(&torus), [Some(1), Some(0), Some(5), Some(5)]);
    }

    #[test]
    fn a_rank_is_never_its_own_neighbour() {
        let ring = Grid::new(5, &[5, 1], true).unwrap();
        assert_eq!(ring.neighbour(3, &FACES[2]), None);
    }

    #[test]
    fn extents_that_do_not_fit_the_job_are_an_error() {
        assert!(
            Grid::new(6, &[3, 3], true)
                .unwrap_err()
                .contains("3 x 3 make 9 ranks, but the job has 6")
        );
        assert!(Grid::new(0, &[0, 3], true).is_err());
        assert!(Grid::new(6, &[1 << 31, 3], true).is_err());
        assert!(Grid::new(6, &[], true).is_err());
        assert!(Grid::new(6, &[1, 1, 1, 2, 3], true).is_err());
    }
}
